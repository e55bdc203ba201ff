package gateway

import (
	"context"
	"errors"

	"revtail/etcdstore"
	"revtail/gateway/watchcache"
)

// get reads an object as it is now or, unless unset, from the cache in a state that is not older than a revision; nil: it does
// not exist.
func (s *store) get(ctx context.Context, t target, revision etcdstore.Revision, unset bool) (*watchcache.Object, error) {
	if unset {
		return s.read(ctx, t)
	}
	return t.cache.Get(ctx, t.Scope.Path(), revision)
}

// read reads an object from etcd; nil: it does not exist.
func (s *store) read(ctx context.Context, t target) (*watchcache.Object, error) {
	kv, _, err := s.etcd.Get(ctx, s.key(t.Ref))
	if errors.Is(err, etcdstore.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return t.cache.Decode(kv), nil
}
