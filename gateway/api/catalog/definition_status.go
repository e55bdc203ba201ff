package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding"
	"revtail/encoding/jsontext"
	"revtail/etcdstore"
	"revtail/gateway/api/customresource"
	"revtail/gateway/api/object"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// writeStatus stores the status that a definition should have, if it has another one. All replicas would store the same.
func (d *definitions) writeStatus(ctx context.Context, definition *customresource.Definition, conflict customresource.Conflict) error {
	want, err := json.Marshal(definition.Status(conflict))
	if err != nil {
		return err
	}
	if have, err := json.Marshal(definition.V1.Status); err == nil && bytes.Equal(have, want) {
		return nil
	}
	return d.rewrite(ctx, definition, func(stored object.Object) (keep bool, err error) {
		if stored.GetGeneration() != definition.V1.Generation {
			return true, etcdstore.ErrConflict
		}
		stored.Object["status"], err = jsontext.Unmarshal(want)
		return true, err
	})
}

// rewrite changes a definition in etcd, or deletes it if change returns false. It does not change another definition of the same name,
// which has another uid. After a concurrent write the error is ErrConflict, and the watch brings the newer definition.
func (d *definitions) rewrite(ctx context.Context, definition *customresource.Definition, change func(stored object.Object) (keep bool, err error)) error {
	store, key := d.catalog.Own, d.catalog.definitionKey(definition.V1.Name)
	kv, _, err := store.Get(ctx, key)
	if err != nil {
		return err
	}
	decoded, err := jsontext.Unmarshal(kv.Value)
	if err != nil {
		return err
	}
	stored := object.New(decoded)
	if stored.GetUID() != definition.V1.UID {
		return nil
	}
	keep, err := change(stored)
	if err == nil && !keep {
		_, err = store.Delete(ctx, key, kv.Modified)
	}
	if err != nil || !keep {
		return err
	}
	value, err := encoding.Marshal(stored.Object)
	if err != nil || bytes.Equal(value, kv.Value) {
		return err
	}
	_, err = store.Update(ctx, key, value, kv.Modified)
	return err
}

// GuardCached returns the condition for the creation of an object: the object's CustomResourceDefinition is the one in the cache, which is
// not being deleted. Without it a replica whose cache lags behind could create an object after all others were deleted. The error is a
// Status.
func (c *Catalog) GuardCached(ctx context.Context, res *resource.Resource) (etcdstore.Guard, error) {
	if !res.IsCustom() {
		return etcdstore.Guard{}, nil
	}
	definition, err := c.Current().Caches[customresource.Kind()].Get(ctx, res.QualifiedName(), 0)
	if err != nil {
		return etcdstore.Guard{}, err
	}
	return c.guardOf(res, definition)
}

// GuardStored is GuardCached of a custom resource, with the definition in etcd.
func (c *Catalog) GuardStored(ctx context.Context, res *resource.Resource) (etcdstore.Guard, error) {
	kv, _, err := c.Store.Get(ctx, c.definitionKey(res.QualifiedName()))
	switch {
	case errors.Is(err, etcdstore.ErrNotFound):
		return c.guardOf(res, nil)
	case err != nil:
		return etcdstore.Guard{}, err
	}
	return c.guardOf(res, c.Current().Caches[customresource.Kind()].Decode(kv))
}

// guardOf returns the condition that the definition of a resource is at its revision; nil: there is no definition.
func (c *Catalog) guardOf(res *resource.Resource, definition *watchcache.Object) (etcdstore.Guard, error) {
	if definition == nil {
		return etcdstore.Guard{}, status.Error(http.StatusNotFound, metav1.StatusReasonNotFound,
			"the server could not find the requested resource")
	}
	if definition.Terminating() {
		return etcdstore.Guard{}, status.Error(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
			"create not allowed while custom resource definition is terminating")
	}
	return etcdstore.Guard{Key: c.definitionKey(res.QualifiedName()), Modified: definition.Revision}, nil
}

func (c *Catalog) definitionKey(name string) string {
	return customresource.Kind().Prefix(c.Prefix) + name
}

// deleteObjects deletes the objects of a definition that is being deleted and, when none is left, the definition. It waits for objects with
// finalizers. It deletes no objects of a built-in resource, even if the definition has the same names.
func (d *definitions) deleteObjects(ctx context.Context, definition *customresource.Definition) {
	name := definition.V1.Name
	if err := d.catalog.Claim.Verify(ctx); err != nil {
		d.catalog.Logger.Warn("a CustomResourceDefinition is not emptied, trying again", "name", name, "error", err)
		return
	}
	left := 0
	if stored := definition.Stored(); !slices.ContainsFunc(d.catalog.builtin, stored.SamePlace) {
		var err error
		if left, err = d.catalog.objects.DeleteAll(ctx, stored); err != nil {
			d.catalog.Logger.Warn("the objects of a CustomResourceDefinition were not all deleted, trying again", "name", name, "error", err)
			return
		}
	}
	if left > 0 {
		return
	}
	if err := d.release(ctx, definition); err != nil && !errors.Is(err, etcdstore.ErrNotFound) && ctx.Err() == nil {
		d.catalog.Logger.Warn("a CustomResourceDefinition was not deleted, trying again", "name", name, "error", err)
	}
}

// release removes revtail's finalizer from a definition that is being deleted, or the definition if it has no other finalizer.
func (d *definitions) release(ctx context.Context, definition *customresource.Definition) error {
	return d.rewrite(ctx, definition, func(stored object.Object) (keep bool, err error) {
		finalizers := slices.DeleteFunc(stored.GetFinalizers(), func(f string) bool { return f == apiextensionsv1.CustomResourceCleanupFinalizer })
		stored.SetFinalizers(finalizers)
		return len(finalizers) > 0, nil
	})
}

// KeptForCleanup returns a definition with the finalizer that keeps it until its objects have been deleted, and an object of another kind as it
// is. A definition that cannot be parsed has no finalizer, because it is not served.
func KeptForCleanup(res *resource.Resource, old object.Object) object.Object {
	if res != customresource.Kind() || slices.Contains(old.GetFinalizers(), apiextensionsv1.CustomResourceCleanupFinalizer) {
		return old
	}
	text, err := old.MarshalJSON()
	if err == nil {
		_, err = customresource.Parse(text)
	}
	if err != nil || old.GetDeletionTimestamp() != nil {
		return old
	}
	kept := old.Copy()
	kept.SetFinalizers(append(kept.GetFinalizers(), apiextensionsv1.CustomResourceCleanupFinalizer))
	return kept
}
