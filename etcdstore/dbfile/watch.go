package dbfile

import (
	"context"
	"strings"
	"time"

	"revtail/etcdstore"
)

// The limits of a batch: the revisions are those of etcd for a watch that catches up.
const (
	batchRevisions = 1000
	batchBytes     = 4 << 20
)

// watcher reads the changes after a revision.
type watcher struct {
	store   *Store
	prefix  string
	options etcdstore.WatchOptions
	next    int // the place of the next change
}

// Watch implements etcdstore.Store.
func (s *Store) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	w := &watcher{store: s, prefix: prefix, options: o, next: s.index.after(o.After)}
	return s.NewWatcher(ctx, prefix, o, w.pull)
}

// pull moves to the end of the file or of a full batch, and returns the events that match. An error moves nothing.
func (w *watcher) pull(ctx context.Context) (etcdstore.Batch, error) {
	if after := w.options.After; after+1 < w.store.info.Oldest {
		return etcdstore.Batch{}, &etcdstore.CompactedError{Requested: after, Compacted: w.store.info.Oldest}
	}
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
