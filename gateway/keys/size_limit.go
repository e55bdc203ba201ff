package keys

import (
	"context"
	"errors"
	"sync/atomic"

	"revtail/etcdstore"
	"revtail/gateway/access/flowcontrol"
)

// sizeLimit is the store of one cache. It stops the cache when that holds more than maxBytes, or would after it is filled.
type sizeLimit struct {
	etcdstore.Store
	maxBytes int
	size     func() int        // of the cache
	held     flowcontrol.Seats // for its bytes
	bytes    atomic.Int64      // that held was set to last
	ctx      context.Context   // of the cache; its cause says whether it was stopped because of its size
	stop     context.CancelCauseFunc

	// only the goroutine of a fill uses the fields below
	fills  int // that have begun
	filled int // bytes that it has read
	pages  pager
}

// stopped reports whether the cache has been stopped because of its size.
func (s *sizeLimit) stopped() bool {
	return errors.Is(context.Cause(s.ctx), errRangeTooLarge) || s.rejected()
}

// rejected reports whether the cache has been stopped because its user had no share left for its bytes.
func (s *sizeLimit) rejected() bool {
	return errors.As(context.Cause(s.ctx), new(*flowcontrol.RejectedError))
}

// countStep is by how many bytes a cache changes before they are counted again.
const countStep = 64 << 10

// check counts the bytes of the cache, and stops it if they are too many.
func (s *sizeLimit) check(bytes int) {
	if change := int64(bytes) - s.bytes.Load(); change <= -countStep || change >= countStep {
		s.bytes.Store(int64(bytes))
		s.held.Set(int64(max(1, bytes)))
	}
	if bytes > s.maxBytes {
		s.stop(errRangeTooLarge)
	}
}

// add counts bytes that a fill has read. The first fill needs a share for them; later ones replace what is held already.
func (s *sizeLimit) add(bytes int) error {
	if s.filled += bytes; s.fills == 1 {
		s.bytes.Add(int64(bytes))
		if err := s.held.Grow(int64(bytes)); err != nil {
			s.stop(err)
			return err
		}
	}
	if s.filled > s.maxBytes {
		s.stop(errRangeTooLarge)
		return errRangeTooLarge
	}
	return nil
}

// List implements etcdstore.Store. Only a fill reads more than one value.
func (s *sizeLimit) List(ctx context.Context, prefix string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	if o.KeysOnly || o.Limit == 1 {
		return s.Store.List(ctx, prefix, o)
	}
	if o.After == "" {
		s.filled, s.pages = 0, pager{}
		s.fills++
	}
	o.Limit = s.pages.limit(o.Limit)
	page, err := s.Store.List(ctx, prefix, o)
	if err != nil {
		return page, err
	}
	if err := s.add(s.pages.took(page.KVs)); err != nil {
		return etcdstore.Page{}, err
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
