package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/gateway/customresource"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// keptForCleanup is what a delete finds: a definition carries a finalizer from then on, until its objects have been deleted.
// One that cannot be understood is not served, and goes at once.
func (t target) keptForCleanup(old document) document {
	if t.resource != customresource.Kind() || slices.Contains(old.GetFinalizers(), apiextensionsv1.CustomResourceCleanupFinalizer) {
		return old
	}
	text, err := old.MarshalJSON()
	if err == nil {
		_, err = customresource.Parse(text)
	}
	if err != nil || old.GetDeletionTimestamp() != nil {
		return old
	}
	kept := old.copy()
	kept.SetFinalizers(append(kept.GetFinalizers(), apiextensionsv1.CustomResourceCleanupFinalizer))
	return kept
}

// checkDefinition refuses to create an object of a resource whose definition is being deleted.
func (s *Server) checkDefinition(ctx context.Context, t target) error {
	if t.resource.Storage == "" {
		return nil
	}
	definition, err := s.now().caches[customresource.Kind()].Get(ctx, t.resource.QualifiedName(), 0)
	if err != nil || definition == nil {
		return err
	}
	if _, terminating := encoding.Lookup(definition.JSON, []string{"metadata", "deletionTimestamp"}); !terminating {
		return nil
	}
	return &apierrors.StatusError{ErrStatus: *newStatus(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
		"create not allowed while custom resource definition is terminating")}
}

// empty deletes the objects of a definition that is being deleted, and when there are none any more, the definition. Objects
// that others hold by finalizers are marked, and waited for.
func (d *definitions) empty(ctx context.Context, definition *customresource.Definition) {
	name := definition.V1.Name
	left := 0
	if held := d.served[name]; held != nil && len(held.resources) > 0 {
		var err error
		if left, err = d.server.deleteAll(ctx, target{resource: held.resources[0], cache: held.caches[0].Cache}); err != nil {
			d.server.options.Logger.Warn("the objects of a CustomResourceDefinition were not all deleted, trying again", "name", name, "error", err)
			return
		}
	}
	if left > 0 {
		return
	}
	if err := d.release(ctx, definition); err != nil && !errors.Is(err, etcdstore.ErrNotFound) && ctx.Err() == nil {
		d.server.options.Logger.Warn("a CustomResourceDefinition was not deleted, trying again", "name", name, "error", err)
	}
}

// release takes the finalizer from a definition that is being deleted. It goes when that was the last one.
func (d *definitions) release(ctx context.Context, definition *customresource.Definition) error {
	store := d.server.options.Store
	kv, _, err := store.Get(ctx, d.key(definition))
	if err != nil {
		return err
	}
	object, err := encoding.Unmarshal(kv.Value)
	if err != nil {
		return err
	}
	stored := newDocument(object)
	if stored.GetUID() != definition.V1.UID {
		return nil // another one has taken the name
	}
	finalizers := slices.DeleteFunc(stored.GetFinalizers(), func(f string) bool { return f == apiextensionsv1.CustomResourceCleanupFinalizer })
	if len(finalizers) == 0 {
		_, err = store.Delete(ctx, d.key(definition), kv.Modified)
		return err
	}
	stored.SetFinalizers(finalizers)
	value, err := encoding.Marshal(stored.Object)
	if err != nil || bytes.Equal(value, kv.Value) {
		return err
	}
	_, err = store.Update(ctx, d.key(definition), value, kv.Modified)
	return err
}

// deleteAll deletes every object of a resource, and returns how many there were: they are gone when a later call finds none.
func (s *Server) deleteAll(ctx context.Context, t target) (found int, err error) {
	newest, err := s.options.Store.Revision(ctx)
	if err != nil {
		return 0, err
	}
	list, err := t.cache.List(ctx, watchcache.ListQuery{AtLeast: newest})
	if err != nil {
		return 0, err
	}
	objects := slices.Concat(slices.Collect(list.Objects), list.Invalid)
	for _, object := range objects {
		one := t
		one.scope = resource.Scope{Namespace: object.Namespace, Name: object.Name}
		if _, _, err := s.delete(ctx, one, &metav1.DeleteOptions{}); err != nil && !isAbsent(err) {
			return 0, fmt.Errorf("deleting %s: %w", one.scope.Path(), err)
		}
	}
	return len(objects) + list.InvalidCount - len(list.Invalid), nil // of the invalid ones, not all are named at once
}
