package history

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"revtail/etcdstore"
)

const (
	// laggardTimeout is how long a chunk waits for the readers whose inbox is full, counted from the last delivery. A pass continues
	// without the laggards, and a later pass reads the rest for them. laggardLimit bounds the whole wait for one chunk.
	laggardTimeout = time.Second
	laggardLimit   = 10 * time.Second
	// maxBuffered bounds the bytes of all chunks that readers hold. The chunk that was read last may exceed it.
	maxBuffered = 64 << 20
	// idleTimeout ends a pass that gets no event for so long while another reader waits for older events.
	idleTimeout = 5 * time.Second
)

// Config says which history a Fanout reads. Every field is needed.
type Config[E any] struct {
	Store  etcdstore.Store
	Prefix string
	// Decode makes the event that readers get, and returns its size in memory. It returns false for an event that no reader shows.
	Decode func(etcdstore.Event) (event E, bytes int, ok bool)
	// Verify fails while the store cannot be reached. It must notice a store that was put back to an earlier revision, because a
	// watch from a future revision stays silent.
	Verify func(context.Context) error
	// Settle waits while a log gets the events of history that it has from its start, if it does now, and returns the revision after which it has all
	// events then. Readers that need no others are returned to the log, so that they cost the store no watch.
	Settle func(context.Context) (floor etcdstore.Revision, waited bool)
	// Stopped is the error that readers get after Run has ended.
	Stopped error
}

// Fanout reads etcd's history once for all readers: one watch in etcd begins at the revision of the oldest reader, and the other
// readers join when the watch reaches their revision. Each reader has an inbox for one chunk, so fast readers do not wait for slow
// ones, and etcd is read no faster than clients are written to.
type Fanout[E any] struct {
	config  Config[E]
	wake    chan struct{} // holds one; see Wake
	backoff Backoff

	mu       sync.Mutex // guards the fields below, Reader.queued and chunk.holders
	readers  map[*Reader[E]]struct{}
	stopped  bool
	buffered int // bytes of the chunks that are in an inbox or that a reader holds
}

// NewFanout makes a fan-out; Run serves its readers.
func NewFanout[E any](config Config[E]) *Fanout[E] {
	return &Fanout[E]{config: config, wake: make(chan struct{}, 1), readers: make(map[*Reader[E]]struct{})}
}

// Wake makes Run look at its readers again: a reader came, left or has room, or Query.Check may fail now.
func (f *Fanout[E]) Wake() { notify(f.wake) }

// Stats counts the readers, and the bytes of the chunks that they hold.
func (f *Fanout[E]) Stats() (readers, buffered int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.readers), f.buffered
}

// Run reads history for the readers until ctx ends. It is called once.
func (f *Fanout[E]) Run(ctx context.Context) {
	defer func() {
		f.mu.Lock()
		f.stopped = true
		f.mu.Unlock()
		f.endReaders(func(*Reader[E]) error { return f.config.Stopped })
	}()
	for ctx.Err() == nil {
		path, after, found := f.oldest()
		if !found {
			f.wait(ctx, nil)
			continue
		}
		if floor, waited := f.config.Settle(ctx); waited {
			f.checkReaders()
			f.endReaders(func(r *Reader[E]) error {
				if r.queued < floor {
					return nil
				}
				return ErrInLog
			})
			continue
		}
		err := f.pass(ctx, path, after)
		if err == nil {
			f.backoff.Reset()
			continue
		}
		f.failReaders(after, err)
		for errors.Is(err, etcdstore.ErrUnavailable) && ctx.Err() == nil {
			Sleep(ctx, f.backoff.Next())
			f.checkReaders()
			if f.config.Verify(ctx) == nil {
				break
			}
		}
	}
}

// wait returns after a wake-up, or when the timer fires; a nil timer never does.
func (f *Fanout[E]) wait(ctx context.Context, timer *time.Timer) (woken bool) {
	var fires <-chan time.Time
	if timer != nil {
		fires = timer.C
	}
	select {
	case <-f.wake:
		f.checkReaders()
		return true
	case <-fires:
	case <-ctx.Done():
	}
	return false
}

// oldest returns the lowest revision of all readers with room, and the common prefix of their paths.
func (f *Fanout[E]) oldest() (path string, after etcdstore.Revision, found bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for r := range f.readers {
		switch {
		case r.full():
		case !found:
			path, after, found = r.query.Path, r.queued, true
		default:
			path, after = commonPrefix(path, r.query.Path), min(after, r.queued)
		}
	}
	return path, after, found
}

func commonPrefix(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// pass reads the history of a path after a revision. It returns nil when no reader needs the rest of it.
func (f *Fanout[E]) pass(ctx context.Context, path string, after etcdstore.Revision) error {
	ctx, cancel := context.WithCancel(ctx)
	watcher := f.config.Store.Watch(ctx, f.config.Prefix+path, etcdstore.WatchOptions{After: after, Previous: true})
	defer func() {
		cancel()
		_ = watcher.Close() // Next has returned its error
	}()
	for received := time.Now(); ; {
		followers, free, others := f.countReaders(path, after)
		if followers == 0 {
			return nil
		}
		if f.full() {
			f.wait(ctx, nil)
			continue
		}
		batch, err := NextWithin(ctx, watcher, ProgressPeriod)
		f.checkReaders() // a store that was put back may have sent the batch
		switch {
		case errors.Is(err, ErrSilent) && others > 0 && (free == 0 || time.Since(received) > idleTimeout):
			return nil // the pass is near the end of history, and other readers wait for the beginning
		case errors.Is(err, ErrSilent):
			_ = watcher.RequestProgress(ctx) // the next batch, or the error of the watch, tells why it was silent
		case err != nil:
			return err
		default:
			f.backoff.Reset()
			f.deliver(ctx, path, after, f.decode(batch))
			after, received = batch.Through, time.Now()
		}
	}
}

// countReaders counts the readers of a path that a pass at a revision serves, those of them with room in the inbox, and the
// other readers with room.
func (f *Fanout[E]) countReaders(path string, after etcdstore.Revision) (followers, free, others int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for r := range f.readers {
		follows := r.queued >= after && strings.HasPrefix(r.query.Path, path)
		switch {
		case follows && !r.full():
			followers, free = followers+1, free+1
		case follows:
			followers++
		case !r.full():
			others++
		}
	}
	return followers, free, others
}

// deliver puts a chunk into the inbox of every reader that needs it. It waits for readers with a full inbox, but leaves laggards
// behind when there are other readers to serve.
func (f *Fanout[E]) deliver(ctx context.Context, path string, after etcdstore.Revision, next *chunk[E]) {
	deadline, laggards := time.Now().Add(laggardLimit), time.NewTimer(laggardTimeout)
	defer laggards.Stop()
	for total := 0; ; {
		delivered, busy, others := f.tryDeliver(path, after, next)
		if total += delivered; busy == 0 || ctx.Err() != nil {
			return
		}
		if delivered > 0 && time.Now().Before(deadline) {
			laggards.Reset(laggardTimeout)
		}
		if f.wait(ctx, laggards) {
			continue
		}
		if total+others > 0 {
			return
		}
		laggards.Reset(laggardTimeout) // no other reader waits
	}
}

// tryDeliver puts a chunk into every inbox with room. busy counts the readers that need the chunk but have no room, others the
// readers with room that need an earlier or a later chunk.
func (f *Fanout[E]) tryDeliver(path string, after etcdstore.Revision, next *chunk[E]) (delivered, busy, others int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for r := range f.readers {
		switch {
		case r.queued < after || !strings.HasPrefix(r.query.Path, path):
			if !r.full() {
				others++
			}
		case r.queued > next.through, r.queued == next.through && (r.full() || len(next.events) > 0):
			// The reader has the chunk. A reader with room gets an empty chunk again: it then checks whether the log has caught up.
			if !r.full() {
				others++
			}
		case r.full():
			busy++
		default:
			r.inbox <- result[E]{chunk: next}
			r.queued = next.through
			delivered++
			if next.holders++; next.holders == 1 {
				f.buffered += next.bytes
			}
		}
	}
	return delivered, busy, others
}

func (f *Fanout[E]) full() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.buffered >= maxBuffered
}

// checkReaders ends the readers whose Check fails.
func (f *Fanout[E]) checkReaders() {
	f.endReaders(func(r *Reader[E]) error { return r.query.Check() })
}

// failReaders ends the readers that cannot go on after the error of a pass from a revision.
func (f *Fanout[E]) failReaders(after etcdstore.Revision, err error) {
	var compacted *etcdstore.CompactedError
	f.endReaders(func(r *Reader[E]) error {
		switch {
		case errors.As(err, &compacted):
			if r.queued <= after || r.queued+1 < compacted.Compacted {
				return &etcdstore.CompactedError{Requested: r.query.Resume, Compacted: compacted.Compacted}
			}
		case !errors.Is(err, etcdstore.ErrUnavailable) && !errors.Is(err, context.Canceled):
			return err
		}
		return nil
	})
}

// endReaders ends each reader with the error that why returns for it. A reader with a full inbox is asked again later.
func (f *Fanout[E]) endReaders(why func(*Reader[E]) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for r := range f.readers {
		if r.full() {
			continue
		}
		if err := why(r); err != nil {
			r.inbox <- result[E]{err: err}
			delete(f.readers, r)
		}
	}
}
