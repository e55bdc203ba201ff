package catalog

import (
	"context"
	"errors"
	"net/http"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding/jsontext"
	"revtail/etcdstore"
	"revtail/gateway/api/customresource"
	"revtail/gateway/api/object"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// GuardCached returns what guards the creation of an object of a resource: that its CustomResourceDefinition, as the cache has it, is not
// being deleted, nor has been. Otherwise a replica that does not know of the deletion yet would leave an object behind that nobody
// sees. The error is a Status.
func (c *Catalog) GuardCached(ctx context.Context, res *resource.Resource) (etcdstore.Guard, error) {
	if res.Storage == "" {
		return etcdstore.Guard{}, nil
	}
	definition, err := c.Current().Caches[customresource.Kind()].Get(ctx, res.QualifiedName(), 0)
	if err != nil || definition == nil {
		return guardOf("", 0, nil, err)
	}
	return guardOf(c.definitionKey(res.QualifiedName()), definition.Revision, definition.JSON, nil)
}

// GuardStored is GuardCached with the definition that etcd has.
func (c *Catalog) GuardStored(ctx context.Context, res *resource.Resource) (etcdstore.Guard, error) {
	if res.Storage == "" {
		return etcdstore.Guard{}, nil
	}
	key := c.definitionKey(res.QualifiedName())
	kv, _, err := c.Store.Get(ctx, key)
	if errors.Is(err, etcdstore.ErrNotFound) {
		return guardOf("", 0, nil, nil)
	}
	return guardOf(key, kv.Modified, kv.Value, err)
}

// guardOf returns the guard of a definition at a revision, without a key where there is none.
func guardOf(key string, revision etcdstore.Revision, definition []byte, err error) (etcdstore.Guard, error) {
	if err != nil {
		return etcdstore.Guard{}, err
	}
	if key == "" {
		return etcdstore.Guard{}, status.Error(http.StatusNotFound, metav1.StatusReasonNotFound,
			"the server could not find the requested resource")
	}
	if _, terminating := jsontext.Lookup(definition, []string{"metadata", "deletionTimestamp"}); terminating {
		return etcdstore.Guard{}, status.Error(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
			"create not allowed while custom resource definition is terminating")
	}
	return etcdstore.Guard{Key: key, Modified: revision}, nil
}

func (c *Catalog) definitionKey(name string) string {
	return customresource.Kind().Prefix(c.Prefix) + name
}

// deleteObjects deletes the objects of a definition that is being deleted, and when there are none any more, the definition. Objects
// that others hold by finalizers are marked, and waited for. Where the names belong to somebody else, so do the objects.
func (d *definitions) deleteObjects(ctx context.Context, definition *customresource.Definition) {
	name := definition.V1.Name
	if err := d.catalog.Claim.Verify(ctx); err != nil {
		d.catalog.Logger.Warn("a CustomResourceDefinition is not emptied, trying again", "name", name, "error", err)
		return
	}
	left := 0
	if stored := definition.Stored(); !slices.ContainsFunc(d.catalog.builtin, stored.SamePlace) {
		var err error
		if left, err = d.catalog.DeleteObjects(ctx, stored); err != nil {
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

// release takes the finalizer from a definition that is being deleted. It goes when that was the last one.
func (d *definitions) release(ctx context.Context, definition *customresource.Definition) error {
	return d.rewrite(ctx, definition, func(stored object.Object) (mutation, error) {
		finalizers := slices.DeleteFunc(stored.GetFinalizers(), func(f string) bool { return f == apiextensionsv1.CustomResourceCleanupFinalizer })
		if len(finalizers) == 0 {
			return removed, nil
		}
		stored.SetFinalizers(finalizers)
		return changed, nil
	})
}
