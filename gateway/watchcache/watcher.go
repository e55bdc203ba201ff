package watchcache

import (
	"context"
	"errors"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/watchcache/filter"
	"revtail/gateway/watchcache/selector"
)

// WatchQuery says what to watch, and from where.
type WatchQuery struct {
	Namespace string // empty: all
	Name      string // empty: all
	Selector  *selector.Selector
	Filter    *filter.Filter // nil: everything

	// AtLeast: the state must be as new as this revision; zero: whatever is cached.
	AtLeast etcdstore.Revision
	// After: the changes later than this revision; zero: later than the cache's newest.
	After etcdstore.Revision
	// State: begin with the objects that match now, as ADDED. Otherwise begin after After.
	State bool
	// Latest: what waits for a client that is late, more than a batch, is told as the newest state of each object.
	Latest bool
	// Own: the watch is this process's, and not counted among those of clients.
	Own bool
}

// Batch is a step of a watch: complete revisions only.
type Batch struct {
	Changes []Change
	// Through is the revision up to which the watcher has now delivered everything that matches: a client may resume there.
	// Zero while the initial state is not complete.
	Through etcdstore.Revision
	// Received is when the first of Changes came from the store. The zero time: they are of the state, or of the past.
	Received time.Time
	// Synced: with this batch the initial state is complete. True once, and only if State was asked for.
	Synced bool
}

const (
	// batchEvents and batchBytes are about how much of the log one step looks at, so that a late watcher's batch stays small. With
	// its framing a batch is a little less than 64 KiB: what the system sends as one packet, and not as that and a small one.
	batchEvents = 256
	batchBytes  = 56 << 10
	// batchState is how many objects of the initial state one step delivers.
	initialEvents = 256
	// batchLook is how many it looks at for them.
	initialScan = 4096
)

// Watcher is one client's cursor. It holds no buffer: a client that is slow falls behind in the log and, when the log has
// moved on, reads etcd's history instead. One goroutine uses it.
type Watcher struct {
	cache      *Cache
	generation int // of the cache when the watch was opened
	query      WatchQuery
	wakeKey    wakeKey
	err        error

	filterErr error // the end of the watch, after the batch that was given out last

	begun bool
	// resuming: whether the client has all of the revision it resumes at is not decided yet.
	resuming bool

	initial *initialState
	history *historyReader

	coalescer *coalescer // what Latest makes wait; nil: nothing

	through  etcdstore.Revision // everything up to it has been delivered, or gathered
	position uint64             // every event of the topic before it has been delivered; valid while the log holds it
	list     *waitList          // where the watcher waits, or waited last

	reader *Reader // has the batch that was given out last; nil: none

	bell  chan struct{} // see Bell; nil: nobody has asked for it
	ready *Ready        // where the watcher is put when it wakes; nil: the bell is rung
	owner any
	index int // among the watchers that are parked with it
}

// Watch opens a cursor. *NotReadyError or ErrStopped when the cache cannot serve; what takes waiting is left to Next.
// The caller closes the Watcher.
func (c *Cache) Watch(q WatchQuery) (*Watcher, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ready || c.liveness.expired && !q.Own {
		return nil, c.notReadyLocked()
	}
	if !q.Own {
		c.watchers++
	}
	w := &Watcher{cache: c, generation: c.generation, query: q, through: q.After, resuming: q.After > 0 && !q.State}
	w.wakeKey = c.indexes.acquire(scope{q.Namespace, q.Name}, q.Selector)
	if !q.State && q.After == 0 {
		w.through = c.through
	}
	return w, nil
}

// Close frees what the watcher holds. It must be called once, by the goroutine that uses the watcher.
func (w *Watcher) Close() {
	w.release()
	if w.history != nil {
		w.history.Close()
	}
	w.cache.mu.Lock()
	defer w.cache.mu.Unlock()
	w.leaveWaitListLocked()
	w.cache.indexes.release(w.wakeKey)
	if !w.query.Own {
		w.cache.watchers--
	}
}

// Begin fixes the state that the watch begins with: what changes later comes as events. It returns when that is done, has
// failed, or ctx ends; the rest, and the error, is left to Next.
func (w *Watcher) Begin(ctx context.Context) {
	if err := w.begin(ctx); err != nil {
		_ = w.fail(ctx, err) // Next returns it
	}
}

// Next waits for the next step, which is never empty unless Synced; its Changes are valid until the next call of Next, Try or
// Poll. After an error it returns the same error for ever:
// *TooLargeError (the state asked for did not arrive), *ExpiredError and *RevertedError (the client must list again),
// ErrStopped, or one of the store. An ended ctx ends only this call.
func (w *Watcher) Next(ctx context.Context) (Batch, error) {
	for {
		batch, wake, err := w.Try(ctx)
		if wake == nil {
			return batch, err
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return Batch{}, ctx.Err()
		}
	}
}

// Try is Next for who waits elsewhere: without an event it returns a channel that has something when it is worth to try again, or
// somebody has rung the Bell. What has to be asked of etcd is waited for all the same.
func (w *Watcher) Try(ctx context.Context) (batch Batch, wake <-chan struct{}, err error) {
	w.release()
	for w.err == nil {
		batch, wake, err := w.step(ctx)
		if err != nil {
			return Batch{}, nil, w.fail(ctx, err)
		}
		if len(batch.Changes) > 0 || batch.Synced || wake != nil {
			return batch, wake, nil
		}
	}
	return Batch{}, nil, w.err
}

// Poll is Next without waiting: its Batch may be empty, and its Through then says how far nothing matched. It is what a
// bookmark is made of.
func (w *Watcher) Poll() (Batch, error) {
	w.release()
	switch {
	case w.err != nil:
		return Batch{}, w.err
	case !w.begun || w.history != nil:
		return Batch{Through: w.delivered()}, nil
	}
	batch, _, err := w.step(context.Background()) //nolint:forbidigo // cannot block: the log alone is read
	if err != nil {
		w.err = err
		return Batch{}, err
	}
	return batch, nil
}

// Follows tells whether the watcher is past its initial state and past etcd's history: Poll then tells all there is.
func (w *Watcher) Follows() bool {
	return w.begun && w.initial == nil && w.history == nil && w.err == nil
}

// Beginning tells whether a part of the initial state is still to come.
func (w *Watcher) Beginning() bool {
	return w.err == nil && w.query.State && (!w.begun || w.initial != nil)
}

// Resuming tells whether it is not known yet what the client has of the revision at which it resumes: all of it, or a part, and
// then the whole of it comes again.
func (w *Watcher) Resuming() bool { return w.resuming && w.err == nil }

// Through is the revision up to which the watcher has delivered everything: a client may resume there. Zero while the initial
// state is not complete.
func (w *Watcher) Through() etcdstore.Revision { return w.delivered() }

// known is through, as far as a client may resume there.
func (w *Watcher) delivered() etcdstore.Revision {
	switch {
	case w.initial != nil || !w.begun && w.query.State:
		return 0
	case w.coalescer != nil:
		return w.coalescer.delivered
	}
	return w.through
}

// fail remembers an error, unless it is only the end of this call's ctx.
func (w *Watcher) fail(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	w.err = err
	return err
}

// step delivers what can be delivered now. If that is nothing, wake has something when it is worth to try again; nil: at once.
func (w *Watcher) step(ctx context.Context) (batch Batch, wake <-chan struct{}, err error) {
	if err := w.begin(ctx); err != nil {
		return Batch{}, nil, err
	}
	if w.initial != nil || w.history != nil {
		if err := w.cache.checkGeneration(w.generation, w.through); err != nil {
			return Batch{}, nil, err
		}
	}
	if w.initial != nil {
		batch, err = w.nextInitial(ctx)
		return batch, nil, err
	}
	if w.history != nil && w.filterErr == nil && !w.coalescer.hasPending() {
		batch, err = w.nextHistory(ctx)
		return batch, nil, err
	}
	w.reader = readerPool.Get().(*Reader)
	batch, wake, err = w.nextLog(w.reader)
	if len(batch.Changes) == 0 {
		w.release() // a watcher that sleeps holds none
	}
	return batch, wake, err
}

// release gives back what the last batch stands in.
func (w *Watcher) release() {
	if w.reader != nil {
		readerPool.Put(w.reader)
		w.reader = nil
	}
}
