package gateway

import (
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
	"revtail/gateway/api/customresource"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// keptForCleanup is what a delete finds: a definition carries a finalizer from then on, until its objects have been deleted.
// One that cannot be understood is not served, and goes at once.
func (t target) keptForCleanup(old document) document {
	if t.Resource != customresource.Kind() || slices.Contains(old.GetFinalizers(), apiextensionsv1.CustomResourceCleanupFinalizer) {
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

// asCached and asStored are where checkDefinition looks: in memory first, as that is right nearly always.
const (
	asCached = false
	asStored = true
)

// checkDefinition refuses to create an object of a resource whose definition is being deleted, or has been. What it found
// guards the create: a replica that has not heard of the deletion would leave an object behind that nobody sees.
func (s *Server) checkDefinition(ctx context.Context, t target, stored bool) (etcdstore.Guard, error) {
	if t.Resource.Storage == "" {
		return etcdstore.Guard{}, nil
	}
	at := target{Ref: resource.Ref{Resource: customresource.Kind(), Scope: resource.Scope{Name: t.Resource.QualifiedName()}}}
	at.cache = s.now().caches[at.Resource].Cache
	var definition *watchcache.Object
	var err error
	if stored {
		definition, err = s.read(ctx, at)
	} else {
		definition, err = at.cache.Get(ctx, at.Scope.Path(), 0)
	}
	if err != nil {
		return etcdstore.Guard{}, err
	}
	if definition == nil {
		return etcdstore.Guard{}, &apierrors.StatusError{ErrStatus: *newStatus(http.StatusNotFound, metav1.StatusReasonNotFound,
			"the server could not find the requested resource")}
	}
	if _, terminating := encoding.Lookup(definition.JSON, []string{"metadata", "deletionTimestamp"}); terminating {
		return etcdstore.Guard{}, &apierrors.StatusError{ErrStatus: *newStatus(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
			"create not allowed while custom resource definition is terminating")}
	}
	return etcdstore.Guard{Key: s.key(at, at.Scope), Modified: definition.Revision}, nil
}

// empty deletes the objects of a definition that is being deleted, and when there are none any more, the definition. Objects
// that others hold by finalizers are marked, and waited for. Where the names belong to somebody else, so do the objects.
func (d *definitions) empty(ctx context.Context, definition *customresource.Definition) {
	name := definition.V1.Name
	if err := d.server.options.Claim.Verify(ctx); err != nil {
		d.server.options.Logger.Warn("a CustomResourceDefinition is not emptied, trying again", "name", name, "error", err)
		return
	}
	left := 0
	if stored := definition.Stored(); !slices.ContainsFunc(d.server.builtin, stored.SamePlace) {
		var err error
		if left, err = d.server.deleteAll(ctx, stored); err != nil {
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
	return d.rewrite(ctx, definition, func(stored document) (outcome, error) {
		finalizers := slices.DeleteFunc(stored.GetFinalizers(), func(f string) bool { return f == apiextensionsv1.CustomResourceCleanupFinalizer })
		if len(finalizers) == 0 {
			return removed, nil
		}
		stored.SetFinalizers(finalizers)
		return changed, nil
	})
}

// deletePage is how many objects deleteAll reads at a time.
const deletePage = 500

// deleteAll deletes every object of a resource, which need not be served, and returns how many there were: they are gone when
// a later call finds none. Keys that no object can have are left alone.
func (s *Server) deleteAll(ctx context.Context, res *resource.Resource) (found int, err error) {
	t := target{Ref: resource.Ref{Resource: res}, cache: s.newCache(res).Cache}
	prefix := res.Prefix(s.options.Prefix)
	options := etcdstore.ListOptions{Limit: deletePage}
	for {
		page, err := s.options.Store.List(ctx, prefix, options)
		if err != nil {
			return 0, err
		}
		for _, kv := range page.KVs {
			var ok bool
			if t.Scope, ok = res.Split(kv.Key[len(prefix):]); !ok {
				continue
			}
			if _, _, err := s.delete(ctx, t, &metav1.DeleteOptions{}); err != nil && !isAbsent(err) {
				return 0, fmt.Errorf("deleting %s: %w", t.Scope.Path(), err)
			}
			s.access.auditOwn(res, t.Scope, "its CustomResourceDefinition is being deleted")
			found++
		}
		if page.Remaining == 0 || len(page.KVs) == 0 {
			return found, nil
		}
		options.After = page.KVs[len(page.KVs)-1].Key
	}
}
