package garbage

import (
	"bytes"
	"context"
	"iter"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"revtail/encoding/jsontext"
	"revtail/etcdstore"
)

// Resource is one kind of object that may own others, be owned, or stand in a namespace.
type Resource struct {
	Name       string // for logs: "pods", "deployments.apps"
	APIVersion string
	Kind       string
	Namespaced bool
	Objects    Objects
}

// Objects is access to the objects of one resource. An object that is not there is nil, without an error. The namespace is
// empty where the resource has none.
type Objects interface {
	// Cached is what this process remembers of an object: it may be out of date.
	Cached(ctx context.Context, namespace, name string) (*Object, error)
	// Read reads an object, linearizably.
	Read(ctx context.Context, namespace, name string) (*Object, error)
	// List reads objects of a namespace, linearizably: at most limit of those after Page.Next of the page before.
	List(ctx context.Context, namespace, after string, limit int) (Page, error)
	// All is every object of a namespace, or of all namespaces if it is empty, in a state not older than atLeast, from memory.
	All(ctx context.Context, namespace string, atLeast etcdstore.Revision) (iter.Seq[*Object], error)
	// Elsewhere reports whether etcd has a key that an object of this name would have in the layout of another program, which may be
	// the object that an ownerReference means.
	Elsewhere(ctx context.Context, namespace, name string) (bool, error)
	// Count is how many objects there are in memory.
	Count() int
	// Delete deletes an object as a client would, if it is still at the revision given. The policy is empty for the object's own;
	// because is for the audit log. False: it stays for now, because of its finalizers or because somebody has changed it.
	Delete(ctx context.Context, o *Object, policy metav1.DeletionPropagation, because string) (gone bool, err error)
	// Edit changes an object's metadata, as it is in etcd: change returns false to leave it alone, and is called again when
	// somebody else was faster. An object that waits to be deleted and loses its last finalizer goes. One that is not there, or
	// cannot be read, is none to change.
	Edit(ctx context.Context, namespace, name string, change func(metadata map[string]any) bool) error
	// Watch begins with all objects that there are. The caller closes it.
	Watch() (Watch, error)
}

// Object is one object at one revision.
type Object struct {
	Key       string // in etcd
	Namespace string
	Name      string
	Created   etcdstore.Revision // zero: not known, for what comes from memory
	Revision  etcdstore.Revision
	JSON      []byte // nil: what stands in etcd cannot be read as an object
}

// Page is a part of a list.
type Page struct {
	Objects []*Object
	Next    string // what to go on after; empty: nothing follows
}

// Watch follows a resource.
type Watch interface {
	// Next waits for the next step. After an error other than that of an ended ctx the watch is of no more use.
	Next(ctx context.Context) (Step, error)
	Close()
}

// Step is what a watch delivers.
type Step struct {
	Changes []Change
	Synced  bool // with this step the initial state is complete
}

// Change is one object that is new or different, or was deleted.
type Change struct {
	Object *Object // if Gone, as it was
	Gone   bool
}

// facts are what decides about an object's end.
type facts struct {
	UID        string      `json:"uid"`
	Deleted    string      `json:"deletionTimestamp"`
	Finalizers []string    `json:"finalizers"`
	Owners     []reference `json:"ownerReferences"`
}

// reference is one of an object's ownerReferences.
type reference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Blocks     bool   `json:"blockOwnerDeletion"`
}

// policy is what the object's deletion waits for: that its dependents have let go of it (Orphan) or, if they block it, are gone
// (Foreground); empty: nothing, or it is not being deleted.
func (f facts) policy() metav1.DeletionPropagation {
	switch {
	case f.Deleted == "":
		return ""
	case slices.Contains(f.Finalizers, metav1.FinalizerOrphanDependents):
		return metav1.DeletePropagationOrphan
	case slices.Contains(f.Finalizers, metav1.FinalizerDeleteDependents):
		return metav1.DeletePropagationForeground
	}
	return ""
}

// facts reads them; false: what a foreign program wrote there cannot be understood.
func (o *Object) facts() (facts, bool) {
	var document struct {
		Metadata facts `json:"metadata"`
	}
	err := kjson.UnmarshalCaseSensitivePreserveInts(o.JSON, &document)
	return document.Metadata, err == nil
}

// mayHaveOwners is a quick look, so that objects without owners need not be decoded.
func (o *Object) mayHaveOwners() bool { return bytes.Contains(o.JSON, []byte(`"ownerReferences"`)) }

// mayPropagate is a quick look for the finalizers that a collector has to remove.
func (o *Object) mayPropagate() bool {
	return o.deleted() && (bytes.Contains(o.JSON, []byte(`"`+metav1.FinalizerOrphanDependents+`"`)) ||
		bytes.Contains(o.JSON, []byte(`"`+metav1.FinalizerDeleteDependents+`"`)))
}

var (
	pathUID               = []string{"metadata", "uid"}
	pathDeletionTimestamp = []string{"metadata", "deletionTimestamp"}
)

func (o *Object) deleted() bool {
	_, deleted := jsontext.Lookup(o.JSON, pathDeletionTimestamp)
	return deleted
}

// is reports whether an object, which may be nil, can be the one with a uid. One that cannot be read, or that a foreign program
// wrote without a uid, can.
func (o *Object) is(uid string) bool {
	if o == nil {
		return false
	}
	found, ok := jsontext.Lookup(o.JSON, pathUID)
	return !ok || found == uid
}
