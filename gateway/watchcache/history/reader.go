package history

import (
	"context"
	"errors"

	"revtail/etcdstore"
)

// ErrInLog ends a Reader: the log has all events that it would read.
var ErrInLog = errors.New("the log has the events")

// Query selects the events of a Reader.
type Query struct {
	// Resume is the revision at which the client resumes. The client may have only a part of the changes of this revision.
	Resume etcdstore.Revision
	After  etcdstore.Revision // the reader gets the events later than this revision
	Path   string             // the common prefix of the keys that the reader sees, below Config.Prefix
	// Contains reports whether the reader sees a key. Check fails when the reader must end; it is called with the Fanout's lock held.
	Contains func(key string) bool
	Check    func() error
}

// Reader reads the history of one watcher. One goroutine uses it.
type Reader[E any] struct {
	fanout  *Fanout[E]
	query   Query
	through etcdstore.Revision
	current *chunk[E] // what Next returned last

	inbox  chan result[E]     // holds one
	queued etcdstore.Revision // everything up to here was delivered or is in the inbox
}

// result is a chunk, or the error that ends the reader.
type result[E any] struct {
	chunk *chunk[E]
	err   error
}

// Read opens a reader; the caller closes it.
func (f *Fanout[E]) Read(q Query) *Reader[E] {
	r := &Reader[E]{fanout: f, query: q, through: q.After, queued: q.After, inbox: make(chan result[E], 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers[r] = struct{}{}
	f.Wake()
	return r
}

func (r *Reader[E]) full() bool { return len(r.inbox) > 0 }

// Through is the revision up to which the reader has delivered everything.
func (r *Reader[E]) Through() etcdstore.Revision { return r.through }

// Next waits for the next events; other readers share them. Events up to the previous Through can be among them. The events of one
// call are valid until the next one. ErrInLog ends the reader without a loss; *etcdstore.CompactedError says that etcd has no complete history for the reader.
func (r *Reader[E]) Next(ctx context.Context) ([]E, error) {
	r.release(r.current)
	r.current = nil
	if r.abandoned() {
		return nil, r.fanout.config.Stopped
	}
	var next result[E]
	select {
	case next = <-r.inbox:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if next.err != nil {
		return nil, next.err
	}
	r.current = next.chunk
	r.fanout.Wake()
	if err := r.query.Check(); err != nil {
		return nil, err
	}
	if err := r.checkPrevious(next.chunk); err != nil {
		return nil, err
	}
	r.through = next.chunk.through
	return next.chunk.events, nil
}

// abandoned reports whether the inbox is final, because the Fanout has stopped.
func (r *Reader[E]) abandoned() bool {
	r.fanout.mu.Lock()
	defer r.fanout.mu.Unlock()
	return r.fanout.stopped && !r.full()
}

// checkPrevious fails for an event of the reader whose previous value is compacted, because a watch needs it.
func (r *Reader[E]) checkPrevious(c *chunk[E]) error {
	for _, e := range c.prevLost {
		if e.Revision > r.query.Resume && r.query.Contains(e.Key) {
			return &etcdstore.CompactedError{Requested: r.query.Resume, Compacted: e.Revision}
		}
	}
	return nil
}

// release frees the memory of a chunk after its last holder.
func (r *Reader[E]) release(c *chunk[E]) {
	if c == nil {
		return
	}
	f := r.fanout
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.holders--; c.holders == 0 {
		f.buffered -= c.bytes
		f.Wake()
	}
}

// Close ends the reader and releases its chunks.
func (r *Reader[E]) Close() {
	f := r.fanout
	f.mu.Lock()
	delete(f.readers, r)
	f.mu.Unlock()
	r.release(r.current)
	select {
	case next := <-r.inbox:
		r.release(next.chunk)
	default:
	}
	f.Wake()
}

// chunk holds the events of one batch of the store, decoded.
type chunk[E any] struct {
	events   []E
	prevLost []etcdstore.Event // events whose previous value etcd has compacted
	through  etcdstore.Revision
	bytes    int
	holders  int
}

func (f *Fanout[E]) decode(batch etcdstore.Batch) *chunk[E] {
	c := &chunk[E]{events: make([]E, 0, len(batch.Events)), through: batch.Through}
	for _, e := range batch.Events {
		if e.PrevLost() {
			c.prevLost = append(c.prevLost, e)
		}
		if event, bytes, ok := f.config.Decode(e); ok {
			c.events = append(c.events, event)
			c.bytes += bytes
		}
	}
	return c
}
