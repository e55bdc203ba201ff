package reconcile

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/encoding"
	"revtail/encoding/gotype"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/object"
	"revtail/gateway/api/storage"
	"revtail/gateway/resource"
)

// manager is the manager of the fields that a gateway writes by itself.
const manager = "revtail"

// Objects are the objects of a resource, of which the gateway writes some by itself. Before each write it verifies that the data is its own. Every replica may
// do so, without a leader: a create makes a key only where none is, and other writes name the object at its revision.
type Objects struct {
	catalog.Target // all
	store          *storage.Store
}

// Of returns the objects of a built-in resource.
func Of(store *storage.Store, gvr schema.GroupVersionResource) Objects {
	now := store.Catalog.Current()
	res := now.Registry.Lookup(gvr.Group, gvr.Version, gvr.Resource)
	return Objects{catalog.Target{Ref: resource.Ref{Resource: res}, Cache: now.Caches[res]}, store}
}

// Create creates an object, which is a pointer to a struct without apiVersion and kind. It is no error that there is one.
func (o Objects) Create(ctx context.Context, created metav1.Object) error {
	members, err := gotype.Encode(created)
	if err != nil {
		return err
	}
	members["apiVersion"], members["kind"] = o.Resource.APIVersion(), o.Resource.Kind
	body, err := encoding.Marshal(members)
	if err == nil {
		err = o.store.Claim.Verify(ctx)
	}
	if err != nil {
		return err
	}
	_, err = o.store.Create(ctx, &storage.Request{Target: o.Target, Options: storage.Options{Manager: manager}, ContentType: "application/json", Body: body})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// Update replaces an object that was read, or a subresource of it. It is no error that it has changed since: that change is looked at next.
func (o Objects) Update(ctx context.Context, next metav1.Object, subresource string) error {
	members, err := gotype.Encode(next)
	if err == nil {
		err = o.store.Claim.Verify(ctx)
	}
	if err != nil {
		return err
	}
	t := o.named(next)
	t.Subresource = subresource
	_, err = o.store.Change(ctx, &storage.Request{Target: t, Options: storage.Options{Manager: manager}}, func(object.Object) (object.Object, error) {
		return object.New(runtime.DeepCopyJSON(members)), nil
	})
	return unlessChanged(err)
}

// Delete deletes an object that was read. It is no error that it has changed since.
func (o Objects) Delete(ctx context.Context, read metav1.Object) error {
	if err := o.store.Claim.Verify(ctx); err != nil {
		return err
	}
	uid, version := read.GetUID(), read.GetResourceVersion()
	_, err := o.store.Delete(ctx, o.named(read), &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version}})
	return unlessChanged(err)
}

// named returns the target of one object.
func (o Objects) named(of metav1.Object) catalog.Target {
	t := o.Target
	t.Scope.Name = of.GetName()
	return t
}

// unlessChanged returns the error of a write, unless the object has changed since it was read.
func unlessChanged(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
