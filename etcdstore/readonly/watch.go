package readonly

import (
	"context"
	"fmt"
	"sync"

	"revtail/etcdstore"
)

// Read returns the next step of a watch. One without Through says that there are no more events. After an error that is not of its context it is not
// called again.
type Read func(ctx context.Context) (etcdstore.Batch, error)

// watcher reads the events after a revision, and then waits for its end.
type watcher struct {
	store    *Store
	ctx      context.Context //nolint:containedctx // that of Watch
	prefix   string
	after    etcdstore.Revision // of the options of Watch
	read     Read
	progress chan struct{} // holds one request
	closing  sync.Once
	closed   chan struct{}
	err      error // only Next uses it
}

// NewWatcher returns the watcher of the events that read returns, which is called by one goroutine.
func (s *Store) NewWatcher(ctx context.Context, prefix string, o etcdstore.WatchOptions, read Read) etcdstore.Watcher {
	w := &watcher{store: s, ctx: ctx, prefix: prefix, after: o.After, read: read, progress: make(chan struct{}, 1), closed: make(chan struct{})}
	switch {
	case prefix == "":
		w.fail(fmt.Errorf("%w: the prefix must not be empty", etcdstore.ErrInvalid))
	case o.After <= 0:
		w.fail(fmt.Errorf("%w: a watch needs a revision to begin after", etcdstore.ErrInvalid))
	}
	return w
}

// Next implements etcdstore.Watcher.
func (w *watcher) Next(ctx context.Context) (etcdstore.Batch, error) {
	for w.err == nil {
		if err := w.ended(); err != nil {
			w.fail(err)
			break
		}
		step, err := w.read(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return etcdstore.Batch{}, fmt.Errorf("watch %q: %w", w.prefix, ctx.Err())
		case err != nil:
			w.fail(err)
			continue
		case step.Through > 0:
			return step, nil
		}
		select {
		case <-w.progress:
			if newest := w.store.source.Newest(); newest > w.after {
				return etcdstore.Batch{Through: newest}, nil
			}
		case <-w.closed:
		case <-w.store.closed:
		case <-w.ctx.Done():
		case <-ctx.Done():
			return etcdstore.Batch{}, fmt.Errorf("watch %q: %w", w.prefix, ctx.Err())
		}
	}
	return etcdstore.Batch{}, w.err
}

// ended returns the error if the watch or the store was closed, or its context ended.
func (w *watcher) ended() error {
	select {
	case <-w.closed:
		return etcdstore.ErrClosed
	case <-w.store.closed:
		return etcdstore.ErrClosed
	default:
		return w.ctx.Err()
	}
}

// RequestProgress implements etcdstore.Watcher.
func (w *watcher) RequestProgress(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("watch %q: %w", w.prefix, err)
	}
	select {
	case w.progress <- struct{}{}:
	default: // there is one already
	}
	return nil
}

// Close implements etcdstore.Watcher.
func (w *watcher) Close() error {
	w.closing.Do(func() { close(w.closed) })
	return nil
}

func (w *watcher) fail(err error) {
	w.err = fmt.Errorf("watch %q after %d: %w", w.prefix, w.after, err)
}
