package watchcache

import (
	"context"
	"errors"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/access/cputime"
	"revtail/gateway/watchcache/filter"
	"revtail/gateway/watchcache/history"
	"revtail/gateway/watchcache/selector"
)

// WatchQuery says what to watch, and from which revision.
type WatchQuery struct {
	Namespace string // empty: all
	Name      string // empty: all
	Selector  *selector.Selector
	Filter    *filter.Filter // nil: everything

	// AtLeast: the initial state must be as new as this revision; zero: any.
	AtLeast etcdstore.Revision
	// After: the changes later than this revision; zero: later than the cache's newest.
	After etcdstore.Revision
	// State: begin with the objects that match now, as ADDED, instead of After.
	State bool
	// Latest: a client that is more than a batch behind gets the newest state of each object, without the states between.
	Latest bool
	// Own: the watch is internal, and not counted among those of clients. A value that cannot be decrypted does not end it; the object counts
	// as one that does not exist.
	Own bool

	// Passes is how often the caller reads each document to encode it; zero: it copies documents unchanged. It counts as work of
	// Reader.Poll.
	Passes int
	// Encoding makes Change.Encoded; nil: nothing does.
	Encoding Encoding
	// Account pays for the evaluation of Selector and Filter; nil: nobody does.
	Account *cputime.Account
}

// selects reports whether events are evaluated for this query.
func (q *WatchQuery) selects() bool { return q.Filter != nil || !q.Selector.Empty() }

// chargeable reports whether reading events for this query is work that the client has chosen.
func (q *WatchQuery) chargeable() bool { return q.selects() || q.Encoding != nil }

// Batch is one step of a watch: complete revisions only.
type Batch struct {
	Changes []Change
	// Through is the revision up to which the watcher has delivered everything that matches: a client may resume there. Zero until
	// the initial events are complete.
	Through etcdstore.Revision
	// Received is the time at which the first of Changes came from the store. Zero for initial events and events of the past.
	Received time.Time
	// Synced: this batch completes the initial events. True once, and only with State.
	Synced bool
}

const (
	// batchEvents and batchBytes bound one batch, approximately. With its framing a batch is a little less than 64 KiB: the system
	// sends it as one packet, not as a large and a small one.
	batchEvents = 256
	batchBytes  = 56 << 10
	// initialEvents is how many objects of the initial state one step delivers, or as many as have initialBytes, and initialScan how many it
	// looks at.
	initialEvents = 256
	initialBytes  = 1 << 20
	initialScan   = 4096
)

// Watcher is the position of one client in the events. It holds no buffer: a slow client falls behind in the log and reads etcd's
// history when the log has dropped its events. One goroutine uses it.
type Watcher struct {
	cache      *Cache
	generation int // of the cache at the start of the watch
	query      WatchQuery
	wakeKey    wakeKey
	err        error

	eventErr error // ends the watch after the last batch

	begun bool
	// resuming: it is not decided yet whether the client has all of the revision at which it resumes.
	resuming bool

	initial *initialState
	history *history.Reader[*event]

	coalescer *coalescer // of Latest; nil: empty

	through  etcdstore.Revision // everything up to here is delivered or coalesced
	position uint64             // every earlier event of the key is delivered; valid while the log holds it
	list     *waitList          // where the watcher waits, or waited last

	reader *Reader // holds the last batch; nil: none

	wakeChan  chan struct{} // capacity 1, notified at the next event of the key; nil: not made yet
	readyList *ReadyList    // gets the watcher when it wakes; nil: wakeChan is notified
	owner     any
	index     int // in its wait group
}

// Watch opens a watcher; the caller closes it. *NotReadyError or ErrStopped when the cache cannot serve. Next does all waiting.
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
	c.encodings.add(&w.query)
	w.wakeKey = c.indexes.acquire(scope{q.Namespace, q.Name}, q.Selector)
	if !q.State && q.After == 0 {
		w.through = c.through
	}
	return w, nil
}

// Close frees the watcher's resources. The goroutine that uses the watcher calls it once.
func (w *Watcher) Close() {
	w.release()
	w.endInitial()
	if w.history != nil {
		w.history.Close()
	}
	w.cache.mu.Lock()
	defer w.cache.mu.Unlock()
	w.leaveWaitListLocked()
	w.cache.encodings.remove(&w.query)
	w.cache.indexes.release(w.wakeKey)
	if !w.query.Own {
		w.cache.watchers--
	}
}

// Begin takes the snapshot of the initial events: later changes come as events. Next returns its error.
func (w *Watcher) Begin(ctx context.Context) {
	if err := w.begin(ctx); err != nil {
		_ = w.fail(ctx, err) // Next returns it
	}
}

// Next waits for the next batch, which is never empty unless Synced; its Changes are valid until the next call of Next, Try or
// Poll. After an error it always returns the same error: *TooLargeError (the cache did not reach the revision), *ExpiredError,
// *UnreadableEventError and *RevertedError (the client must list again), *etcdstore.UnreadableError of the initial events, ErrStopped, or
// one of the store. An ended ctx ends only this call.
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

// Try is Next without waiting for events: if there is none, it returns a channel that gets a value when there may be one. It waits for answers
// of etcd all the same.
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

// Poll is Next without waiting: its Batch may be empty, and its Through is then the revision of a bookmark.
func (w *Watcher) Poll() (Batch, error) {
	w.release()
	switch {
	case w.err != nil:
		return Batch{}, w.err
	case !w.begun || w.history != nil:
		return Batch{Through: w.Through()}, nil
	}
	batch, _, err := w.step(context.Background()) //nolint:forbidigo // cannot block: the log alone is read
	if err != nil {
		w.err = err
		return Batch{}, err
	}
	return batch, nil
}

// CaughtUp reports whether the watcher reads the log: initial events and etcd's history are behind it, and Poll returns all there
// is.
func (w *Watcher) CaughtUp() bool {
	return w.begun && w.initial == nil && w.history == nil && w.err == nil
}

// Beginning reports whether initial events follow.
func (w *Watcher) Beginning() bool {
	return w.err == nil && w.query.State && (!w.begun || w.initial != nil)
}

// Resuming reports whether it is not decided yet what the client has of the revision at which it resumes: all of it, or a part; the
// client then gets all of this revision again.
func (w *Watcher) Resuming() bool { return w.resuming && w.err == nil }

// Evaluation is the part of the work on an event that watchers share, because its results belong to the event.
type Evaluation struct {
	filter   *filter.Filter
	encoding Encoding
}

// Evaluation returns what the watcher shares with others; the zero value: nothing.
func (w *Watcher) Evaluation() Evaluation {
	if e := w.query.Encoding; e != nil && e.Common() {
		return Evaluation{w.query.Filter, e}
	}
	return Evaluation{filter: w.query.Filter}
}

// Through is the revision up to which the watcher has delivered everything: a client may resume there. Zero until the initial
// events are complete.
func (w *Watcher) Through() etcdstore.Revision {
	switch {
	case w.initial != nil || !w.begun && w.query.State:
		return 0
	case w.coalescer != nil:
		return w.coalescer.delivered
	}
	return w.through
}

// fail keeps an error, unless ctx has ended.
func (w *Watcher) fail(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	w.err = err
	return err
}

// step delivers the next batch. Without one, wake gets a value when another step is worth a call; nil: at once.
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
	if w.history != nil && w.eventErr == nil && !w.coalescer.hasPending() {
		batch, err = w.nextHistory(ctx)
		return batch, nil, err
	}
	w.reader = readerPool.Get().(*Reader)
	batch, wake, err = w.nextLog(w.reader)
	if len(batch.Changes) == 0 {
		w.release() // a waiting watcher holds no Reader
	}
	return batch, wake, err
}

func (w *Watcher) release() {
	if w.reader != nil {
		readerPool.Put(w.reader)
		w.reader = nil
	}
}
