package keys

import (
	"context"
	"errors"
	"sync/atomic"

	"revtail/etcdstore"
)

// sizeLimit is the store of one cache. It stops the cache when that holds more than maxBytes, or would after it is filled.
type sizeLimit struct {
	etcdstore.Store
	maxBytes int
	size     func() int      // of the cache
	bytes    atomic.Int64    // that were checked last
	ctx      context.Context // of the cache; its cause is errRangeTooLarge when the limit is exceeded
	stop     context.CancelCauseFunc

	// only the goroutine of a fill uses the fields below
	filled int // bytes that it has read
	pages  pager
}

// exceeded reports whether the cache has been stopped.
func (s *sizeLimit) exceeded() bool { return errors.Is(context.Cause(s.ctx), errRangeTooLarge) }

// check stops the cache if its bytes are too many, and reports whether it may go on.
func (s *sizeLimit) check(bytes int) bool {
	s.bytes.Store(int64(bytes))
	if bytes > s.maxBytes {
		s.stop(errRangeTooLarge)
	}
	return bytes <= s.maxBytes
}

// List implements etcdstore.Store. Only a fill reads more than one value.
func (s *sizeLimit) List(ctx context.Context, prefix string, o etcdstore.ListOptions) (etcdstore.Page, error) {
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
	if s.filled += s.pages.took(page.KVs); !s.check(s.filled) {
		return etcdstore.Page{}, errRangeTooLarge
	}
	return page, nil
}

// Watch implements etcdstore.Store.
func (s *sizeLimit) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	return limitedWatcher{s.Store.Watch(ctx, prefix, o), s}
}

// limitedWatcher checks the size of the cache before it returns more.
type limitedWatcher struct {
	etcdstore.Watcher
	limit *sizeLimit
}

// Next implements etcdstore.Watcher.
func (w limitedWatcher) Next(ctx context.Context) (etcdstore.Batch, error) {
	w.limit.check(w.limit.size())
	return w.Watcher.Next(ctx)
}
