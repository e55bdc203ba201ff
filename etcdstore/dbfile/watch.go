package dbfile

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"revtail/etcdstore"
)

// The limits of a batch: the revisions are those of etcd for a watch that catches up.
const (
	batchRevisions = 1000
	batchBytes     = 4 << 20
)

// watcher reads the changes after a revision, and then waits for its end.
type watcher struct {
	store    *Store
	ctx      context.Context // of Watch
	prefix   string
	options  etcdstore.WatchOptions
	progress chan struct{} // holds one request
	closing  sync.Once
	closed   chan struct{}

	// Only Next uses the fields below.
	next int // the place of the next change
	err  error
}

var _ etcdstore.Watcher = (*watcher)(nil)

// Watch implements etcdstore.Store.
func (s *Store) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	w := &watcher{store: s, ctx: ctx, prefix: prefix, options: o, progress: make(chan struct{}, 1), closed: make(chan struct{})}
	switch {
	case prefix == "":
		w.fail(fmt.Errorf("%w: the prefix must not be empty", etcdstore.ErrInvalid))
	case o.After <= 0:
		w.fail(fmt.Errorf("%w: a watch needs a revision to begin after", etcdstore.ErrInvalid))
	case o.After+1 < s.info.Oldest:
		w.fail(&etcdstore.CompactedError{Requested: o.After, Compacted: s.info.Oldest})
	default:
		w.next = s.index.after(o.After)
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
		batch, err := w.pull(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return etcdstore.Batch{}, fmt.Errorf("watch %q: %w", w.prefix, ctx.Err())
		case err != nil:
			w.fail(err)
			continue
		case len(batch.Events) > 0:
			return batch, nil
		}
		select {
		case <-w.progress:
			if newest := w.store.info.Newest; newest > w.options.After {
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

// pull moves to the end of the file or of a full batch, and returns the events that match. An error moves nothing.
func (w *watcher) pull(ctx context.Context) (etcdstore.Batch, error) {
	batch := etcdstore.Batch{Received: time.Now()}
	changes, revisions, size := w.store.index.changes, 0, 0
	next := w.next
	for ; next < len(changes); next++ {
		c := changes[next]
		if key := w.store.index.keys[c.key]; !strings.HasPrefix(key, w.prefix) || w.options.Exact && key != w.prefix {
			continue
		}
		if c.revision > batch.Through {
			if revisions++; revisions > batchRevisions || size > batchBytes {
				break // before the first change of a revision
			}
		}
		event, err := w.event(next)
		if err != nil {
			return etcdstore.Batch{}, err
		}
		if err := ctx.Err(); err != nil {
			return etcdstore.Batch{}, err
		}
		batch.Events, batch.Through = append(batch.Events, event), c.revision
		size += int(c.size &^ deleted)
	}
	w.next = next
	return batch, nil
}

func (w *watcher) event(place int) (etcdstore.Event, error) {
	c := w.store.index.changes[place]
	event := etcdstore.Event{Revision: c.revision, Key: w.store.index.keys[c.key]}
	var err error
	if !c.isDelete() {
		event.KV, err = w.store.state(place)
	}
	// etcd does not know the state before a change at or before the compacted revision.
	if before := w.store.index.before(place); err == nil && w.options.Previous && before >= 0 && c.revision > w.compacted() {
		event.Prev, err = w.store.state(before)
	}
	return event, err
}

// compacted returns the compacted revision; zero: there was no compaction.
func (w *watcher) compacted() etcdstore.Revision {
	if w.store.info.Oldest == 1 {
		return 0
	}
	return w.store.info.Oldest
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
