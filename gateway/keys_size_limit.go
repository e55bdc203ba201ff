package gateway

import (
	"context"
	"sync"

	"revtail/etcdstore"
)

// boundedStore is the store of one cache, which it stops when that would hold too much: while it is filled, or later.
type boundedStore struct {
	etcdstore.Store
	most     int        // bytes
	size     func() int // of the cache
	stop     context.CancelFunc
	exceeded chan struct{} // closed then
	once     sync.Once

	// only the goroutine of a fill uses the fields below
	filled int // bytes that it has read
	pages  pager
}

func (s *boundedStore) exceed() {
	s.once.Do(func() { close(s.exceeded) })
	s.stop()
}

// List implements etcdstore.Store. Only a fill reads more than one value.
func (s *boundedStore) List(ctx context.Context, prefix string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	if o.KeysOnly || o.Limit == 1 {
		return s.Store.List(ctx, prefix, o)
	}
	if o.After == "" {
		s.filled, s.pages = 0, pager{}
	}
	o.Limit = s.pages.limit(o.Limit)
	page, err := s.Store.List(ctx, prefix, o)
	if err != nil {
		return page, err
	}
	if s.filled += s.pages.took(page.KVs); s.filled > s.most {
		s.exceed()
		return etcdstore.Page{}, errRangeTooLarge
	}
	return page, nil
}

// Watch implements etcdstore.Store.
func (s *boundedStore) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	return boundedWatcher{s.Store.Watch(ctx, prefix, o), s}
}

// boundedWatcher looks at the size of the cache before it brings more.
type boundedWatcher struct {
	etcdstore.Watcher
	store *boundedStore
}

// Next implements etcdstore.Watcher.
func (w boundedWatcher) Next(ctx context.Context) (etcdstore.Batch, error) {
	if w.store.size() > w.store.most {
		w.store.exceed()
	}
	return w.Watcher.Next(ctx)
}
