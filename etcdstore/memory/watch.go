package memory

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"revtail/etcdstore"
)

// batchRevisions bounds the revisions of a batch, as in etcd for a watch that catches up.
const batchRevisions = 1000

// watcher is a cursor in the log of the store.
type watcher struct {
	store    *Store
	ctx      context.Context // of Watch
	prefix   string
	options  etcdstore.WatchOptions
	progress chan struct{} // holds one request
	closing  sync.Once
	closed   chan struct{}

	// Only Next uses the fields below.
	last  *step // the last delivered step; nil: not begun
	asked bool  // progress was requested and not sent yet
	err   error
}

var _ etcdstore.Watcher = (*watcher)(nil)

// Watch implements etcdstore.Store.
func (s *Store) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	w := &watcher{
		store:    s,
		ctx:      ctx,
		prefix:   prefix,
		options:  o,
		progress: make(chan struct{}, 1),
		closed:   make(chan struct{}),
	}
	switch {
	case prefix == "":
		w.fail(fmt.Errorf("%w: the prefix must not be empty", etcdstore.ErrInvalid))
	case o.After <= 0:
		w.fail(fmt.Errorf("%w: a watch needs a revision to begin after", etcdstore.ErrInvalid))
	default:
		w.begin()
	}
	return w
}

// begin moves the cursor to the last step that is not after WatchOptions.After.
func (w *watcher) begin() {
	w.store.mu.RLock()
	defer w.store.mu.RUnlock()
	if w.options.After+1 < w.store.compacted {
		w.fail(&etcdstore.CompactedError{Requested: w.options.After, Compacted: w.store.compacted})
		return
	}
	w.last = w.store.oldest
	for w.last.next != nil && w.last.next.revision <= w.options.After {
		w.last = w.last.next
	}
}

// Next implements etcdstore.Watcher.
func (w *watcher) Next(ctx context.Context) (etcdstore.Batch, error) {
	for w.err == nil {
		if err := w.ended(); err != nil {
			w.fail(err)
			break
		}
		if batch := w.pull(); len(batch.Events) > 0 {
			return batch, nil
		}
		if w.asked {
			w.asked = false
			if w.last.revision > w.options.After {
				return etcdstore.Batch{Through: w.last.revision}, nil
			}
		}
		select {
		case <-w.last.ready:
		case <-w.progress:
			w.asked = true
		case <-w.closed:
		case <-w.ctx.Done():
		case <-ctx.Done():
			return etcdstore.Batch{}, fmt.Errorf("watch %q: %w", w.prefix, ctx.Err())
		}
	}
	return etcdstore.Batch{}, w.err
}

// ended returns the error if the watch was closed or its context ended.
func (w *watcher) ended() error {
	select {
	case <-w.closed:
		return etcdstore.ErrClosed
	default:
		return w.ctx.Err()
	}
}

// pull moves the cursor to the end of the log or of a full batch, and returns the events that match.
func (w *watcher) pull() etcdstore.Batch {
	w.store.mu.RLock()
	defer w.store.mu.RUnlock()
	var batch etcdstore.Batch
	for n := 0; w.last.next != nil && n < batchRevisions; {
		w.last = w.last.next
		if w.last.revision <= w.options.After {
			continue // After was a future revision
		}
		for _, ev := range w.last.events {
			if !strings.HasPrefix(ev.Key, w.prefix) || w.options.Exact && ev.Key != w.prefix {
				continue
			}
			if !w.options.Previous || ev.Revision <= w.store.compacted {
				ev.Prev = nil // etcd reads it only now, after the compaction
			}
			batch.Events = append(batch.Events, ev)
			batch.Through = ev.Revision
		}
		if len(batch.Events) > 0 {
			n++
		}
	}
	batch.Received = time.Now()
	return batch
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
	w.err = fmt.Errorf("watch %q after %d: %w", w.prefix, w.options.After, err)
}
