package gateway

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/etcdstore"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// deleteCollection deletes the objects of a list, one after the other, and returns them as they were. With an error it returns
// those that were deleted before.
func (s *store) deleteCollection(ctx context.Context, t target, p listParams, options *metav1.DeleteOptions) (*watchcache.List, int, error) {
	list, err := s.list(ctx, t, p)
	if err != nil {
		return nil, 0, err
	}
	var deleted []*watchcache.Object
	for object := range list.Objects {
		one := t
		one.Scope.Namespace, one.Scope.Name = object.Namespace(), object.Name()
		if _, _, err = s.delete(ctx, one, options); err != nil && !apierrors.IsNotFound(err) {
			return nil, len(deleted), err
		}
		deleted = append(deleted, object)
	}
	list.Objects, list.Text = slices.Values(deleted), nil
	return list, len(deleted), nil
}

// deletePage is how many objects deleteAll reads at a time.
const deletePage = 500

// deleteAll deletes every object of a resource, which need not be served, and returns how many there were: they are gone when
// a later call finds none. Keys that no object can have are left alone.
func (s *store) deleteAll(ctx context.Context, res *resource.Resource) (found int, err error) {
	t := target{Ref: resource.Ref{Resource: res}, cache: s.catalog.newCache(res).Cache}
	prefix := res.Prefix(s.prefix)
	options := etcdstore.ListOptions{Limit: deletePage}
	for {
		page, err := s.etcd.List(ctx, prefix, options)
		if err != nil {
			return 0, err
		}
		for _, kv := range page.KVs {
			var ok bool
			if t.Scope, ok = res.Split(kv.Key[len(prefix):]); !ok {
				continue
			}
			if _, _, err := s.delete(ctx, t, &metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return 0, fmt.Errorf("deleting %s: %w", t.Scope.Path(), err)
			}
			s.audit(res, t.Scope, "its CustomResourceDefinition is being deleted")
			found++
		}
		if page.Remaining == 0 || len(page.KVs) == 0 {
			return found, nil
		}
		options.After = page.KVs[len(page.KVs)-1].Key
	}
}
