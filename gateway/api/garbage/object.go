package garbage

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"revtail/encoding/jsontext"
	"revtail/etcdstore"
)

// Resource is one kind of object that may own others, be owned, or be in a namespace.
type Resource struct {
	Name       string // for logs: "pods", "deployments.apps"
	APIVersion string
	Kind       string
	Namespaced bool
	Objects    Objects
}

// Objects reads and changes the objects of one resource. An object that does not exist is nil, without an error. The namespace is empty
// if the resource has none.
type Objects interface {
	// Cached returns an object from the watch cache, which may lag behind etcd.
	Cached(ctx context.Context, namespace, name string) (*Object, error)
	// Read reads an object, linearizably.
	Read(ctx context.Context, namespace, name string) (*Object, error)
	// List reads at most limit objects of a namespace, linearizably; after is the Next of the page before, or empty.
	List(ctx context.Context, namespace, after string, limit int) (Page, error)
	// All returns the objects of a namespace (empty: of all) from the watch cache, in a state not older than atLeast.
	All(ctx context.Context, namespace string, atLeast etcdstore.Revision) (iter.Seq[*Object], error)
	// Elsewhere reports whether etcd has the key of such an object in the layout of another program: an ownerReference may mean that
	// object.
	Elsewhere(ctx context.Context, namespace, name string) (bool, error)
	// Key returns the key of an object in etcd.
	Key(namespace, name string) string
	// Count returns the number of objects in the watch cache.
	Count() int
	// Delete deletes an object as a client would, if it is still at its revision. The policy is not empty, so no default of a kind counts; because is for
	// the audit log. False: the object stays for now, because it has finalizers or has changed.
	Delete(ctx context.Context, o *Object, policy metav1.DeletionPropagation, because string) (gone bool, err error)
	// Edit changes an object's metadata, as it is in etcd: change returns false to leave it alone, and is called again after a
	// conflicting write. A terminating object that loses its last finalizer is deleted. Edit ignores an object that does not exist or
	// cannot be decoded.
	Edit(ctx context.Context, namespace, name string, change func(metadata map[string]any) bool) error
	// Watch calls each with the changes of the objects, beginning with the existing ones, until it fails or ctx ends. synced: the
	// initial state ends with these changes. The changes and their objects are valid until each returns: Watch uses
	// their memory again. The caller may keep the strings and the JSON of an object.
	Watch(ctx context.Context, each func(changes []Change, synced bool)) error
}

// Object is one object at one revision.
type Object struct {
	Namespace string
	Name      string
	Created   etcdstore.Revision // zero: unknown, except in an object of List
	Revision  etcdstore.Revision
	JSON      []byte // nil: the value in etcd is no object
}

// Page is a part of a list.
type Page struct {
	Objects []*Object
	Next    string // the after of the next page; empty: there is none
}

// Change is the new state of an object, or its deletion.
type Change struct {
	Object *Object // if Gone, its last state
	Gone   bool
}

// metadata is the part of an object's metadata that its deletion depends on.
type metadata struct {
	UID               string           `json:"uid"`
	DeletionTimestamp string           `json:"deletionTimestamp"`
	Finalizers        []string         `json:"finalizers"`
	OwnerReferences   []ownerReference `json:"ownerReferences"`
}

type ownerReference struct {
	APIVersion         string `json:"apiVersion"`
	Kind               string `json:"kind"`
	Name               string `json:"name"`
	UID                string `json:"uid"`
	BlockOwnerDeletion bool   `json:"blockOwnerDeletion"`
}

// policy returns what the deletion of a terminating object waits for: that no dependent refers to it (Orphan), or that the dependents that
// block it are deleted (Foreground); empty: nothing, or the object is not terminating.
func (m metadata) policy() metav1.DeletionPropagation {
	if m.DeletionTimestamp == "" {
		return ""
	}
	return m.finalizerPolicy()
}

// finalizerPolicy returns the propagation policy of an object's finalizers; empty: it has none.
func (m metadata) finalizerPolicy() metav1.DeletionPropagation {
	switch {
	case slices.Contains(m.Finalizers, metav1.FinalizerOrphanDependents):
		return metav1.DeletePropagationOrphan
	case slices.Contains(m.Finalizers, metav1.FinalizerDeleteDependents):
		return metav1.DeletePropagationForeground
	}
	return ""
}

// deletionPolicy returns the policy with which the collector deletes an object: that of its finalizers, and not the default of its kind.
func (m metadata) deletionPolicy() metav1.DeletionPropagation {
	return cmp.Or(m.finalizerPolicy(), metav1.DeletePropagationBackground)
}

// metadata decodes the metadata; false: another program wrote an object that cannot be decoded.
func (o *Object) metadata() (metadata, bool) {
	var document struct {
		Metadata metadata `json:"metadata"`
	}
	err := kjson.UnmarshalCaseSensitivePreserveInts(o.JSON, &document)
	return document.Metadata, err == nil
}

// waitsFor returns the finalizers that keep an empty namespace: its own, and those in its spec. The one that Kubernetes' namespace
// controller removes from the spec is not among them, because the collector does its work.
func (o *Object) waitsFor() []string {
	var namespace struct {
		Metadata metadata             `json:"metadata"`
		Spec     corev1.NamespaceSpec `json:"spec"`
	}
	if kjson.UnmarshalCaseSensitivePreserveInts(o.JSON, &namespace) != nil {
		return nil // another program wrote it
	}
	finalizers := namespace.Metadata.Finalizers
	for _, name := range namespace.Spec.Finalizers {
		if name != corev1.FinalizerKubernetes {
			finalizers = append(finalizers, string(name))
		}
	}
	return finalizers
}

// mayHaveOwners is a cheap test, so that objects without owners need not be decoded.
func (o *Object) mayHaveOwners() bool { return bytes.Contains(o.JSON, []byte(`"ownerReferences"`)) }

// mayPropagate is a cheap test for the finalizers that a collector removes.
func (o *Object) mayPropagate() bool {
	return o.terminating() && (bytes.Contains(o.JSON, []byte(`"`+metav1.FinalizerOrphanDependents+`"`)) ||
		bytes.Contains(o.JSON, []byte(`"`+metav1.FinalizerDeleteDependents+`"`)))
}

var (
	pathUID               = []string{"metadata", "uid"}
	pathDeletionTimestamp = []string{"metadata", "deletionTimestamp"}
)

func (o *Object) terminating() bool {
	_, terminating := jsontext.Lookup(o.JSON, pathDeletionTimestamp)
	return terminating
}

// is reports whether an object, which may be nil, can have a uid. An object that cannot be decoded, or that another program wrote
// without a uid, can.
func (o *Object) is(uid string) bool {
	if o == nil {
		return false
	}
	found, ok := jsontext.Lookup(o.JSON, pathUID)
	return !ok || found == uid
}
