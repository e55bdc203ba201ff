package gateway

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/etcdstore"
	"revtail/gateway/api/customresource"
	"revtail/gateway/resource"
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

// deletePage is how many objects deleteAll reads at a time.
const deletePage = 500

// deleteAll deletes every object of a resource, which need not be served, and returns how many there were: they are gone when
// a later call finds none. Keys that no object can have are left alone.
func (s *Server) deleteAll(ctx context.Context, res *resource.Resource) (found int, err error) {
	t := target{Ref: resource.Ref{Resource: res}, cache: s.catalog.newCache(res).Cache}
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
