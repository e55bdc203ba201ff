package recorder

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/journal"
)

// Config configures a Recorder.
type Config struct {
	Store    etcdstore.Store // the etcd itself: values are kept as it has them
	Prefixes []string        // of the keys that are recorded; none begins with another one
	Except   []string        // prefixes of keys that are not recorded nevertheless; none begins with another one
	// Omit says for which values only the revisions are kept; nil: for none.
	Omit   func(key string, value []byte) bool
	Bounds journal.Bounds
	Logger *slog.Logger
}

const (
	// retryPause is the time between two attempts to reach etcd.
	retryPause = time.Second
	// syncDelay is how much later than its arrival an event is on the disk: a sync for each would double the syncs of the machine. What a crash
	// loses of it is still in etcd.
	syncDelay = 100 * time.Millisecond
	// progressInterval is how often a watch without events is asked how far it is.
	progressInterval = 5 * time.Second
	// pruneInterval is how often the age and the size of the journal are compared with their bounds.
	pruneInterval = time.Minute
	// maxMemory bounds the memory for values of all prefixes, in bytes.
	maxMemory = 256 << 20
)

// Recorder writes the events of an etcd into a journal. It never delays a delivery: its watches are its own.
type Recorder struct {
	config Config
	opened atomic.Bool // the fields below are set
	// journal, parts and ending do not change after Open.
	journal *journal.Journal
	parts   []*part
	ending  []*journal.Writer // of the ranges of prefixes that are no longer recorded
	room    room
}

// part records one prefix.
type part struct {
	prefix string
	store  etcdstore.Store // without the keys that are not recorded
	writer *journal.Writer // only the goroutine of the part uses it
	// current reports whether the range is known to have the history of the etcd.
	current   atomic.Bool
	watcher   atomic.Pointer[etcdstore.Watcher] // that it follows; nil: none yet
	unwritten atomic.Pointer[time.Time]         // when the events arrived that are not in the journal yet; nil: there are none
	events    atomic.Uint64                     // that were written since the start
	bytes     atomic.Uint64                     // of them, as they were given to the database
	// overtaken reports whether the last watch, on which events had come, ended because etcd has compacted the next ones: this etcd has the
	// history of the range.
	overtaken bool
}

// New returns a recorder. Ranges of other prefixes end. The journal is nil if Open gives it to the recorder later: nothing is recorded until
// then. The caller runs the recorder, and closes the journal afterwards.
func New(j *journal.Journal, c Config) *Recorder {
	r := &Recorder{config: c}
	if j != nil {
		r.Open(j)
	}
	return r
}

// Open gives the recorder its journal. It is called once, before Run.
func (r *Recorder) Open(j *journal.Journal) {
	r.journal, r.room.free = j, j.Free
	memory := maxMemory / max(len(r.config.Prefixes), 1)
	for _, known := range j.Ranges() {
		if known.Continues() && !(slices.Contains(r.config.Prefixes, known.Prefix) && slices.Equal(r.except(known.Prefix), known.Except)) {
			r.ending = append(r.ending, j.Writer(known.Prefix, journal.WriterOptions{Omit: r.config.Omit, Except: known.Except, Memory: memory}))
		}
	}
	for _, prefix := range r.config.Prefixes {
		except := r.except(prefix)
		w := j.Writer(prefix, journal.WriterOptions{Omit: r.config.Omit, Except: except, Memory: memory})
		r.parts = append(r.parts, &part{prefix: prefix, store: without(r.config.Store, except), writer: w})
	}
	r.opened.Store(true)
}

// except returns the prefixes of those keys with a prefix that are not recorded.
func (r *Recorder) except(prefix string) (out []string) {
	for _, except := range r.config.Except {
		if strings.HasPrefix(except, prefix) {
			out = append(out, except)
		}
	}
	return out
}

// Journal returns the journal; nil: it is not open yet.
func (r *Recorder) Journal() *journal.Journal {
	if !r.opened.Load() {
		return nil
	}
	return r.journal
}

// Records reports whether the keys with a prefix are recorded, or will be when the recorder has its journal.
func (r *Recorder) Records(prefix string) bool {
	return slices.ContainsFunc(r.config.Prefixes, func(recorded string) bool {
		return journal.Range{Prefix: recorded, Except: r.config.Except}.Records(prefix)
	})
}

// Run records until ctx ends. The error is always nil: what fails is reported, and tried again.
func (r *Recorder) Run(ctx context.Context) error {
	r.endRanges(ctx)
	var running sync.WaitGroup
	for _, p := range r.parts {
		running.Go(func() { r.runPart(ctx, p) })
	}
	running.Wait()
	return nil
}

// endRanges ends the ranges of prefixes that are no longer recorded, if they have the history of the etcd. It tries until that is known.
func (r *Recorder) endRanges(ctx context.Context) {
	for _, w := range r.ending {
		for ctx.Err() == nil {
			err := w.End(ctx, without(r.config.Store, w.Range().Except))
			if err == nil || ctx.Err() != nil {
				break
			}
			if !errors.Is(err, etcdstore.ErrUnavailable) {
				r.config.Logger.Error("the journal is not written", "prefix", w.Range().Prefix, "error", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(retryPause):
			}
		}
	}
}

func (r *Recorder) runPart(ctx context.Context, p *part) {
	for ctx.Err() == nil {
		err := r.open(ctx, p)
		if err == nil {
			p.current.Store(true)
			err = r.follow(ctx, p)
			p.current.Store(false)
		}
		if ctx.Err() != nil {
			return
		}
		if p.overtaken {
			continue // at once, before the etcd can be another one
		}
		if !errors.Is(err, etcdstore.ErrUnavailable) && !errors.As(err, new(*etcdstore.CompactedError)) {
			r.config.Logger.Error("the journal is not written", "prefix", p.prefix, "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryPause):
		}
	}
}

// open makes the range one of the present history, to which events can be added. Without room on the disk a range that has this history stays as it
// is, and one that has another is read no more until there is room to begin anew.
func (r *Recorder) open(ctx context.Context, p *part) error {
	resume := p.writer.Rejoin
	if p.overtaken && r.room.has() {
		resume = p.writer.Begin
	}
	p.overtaken = false
	was := p.writer.Range()
	if was.Through == 0 {
		if err := r.awaitRoom(ctx, nil); err != nil {
			return err
		}
		return r.began(p, p.writer.Begin(ctx, p.store))
	}
	err := p.writer.Verify(ctx, p.store)
	compacted, other := errors.As(err, new(*etcdstore.CompactedError)), errors.Is(err, journal.ErrOtherHistory)
	if (compacted || other) && !r.room.has() {
		if err := r.awaitRoom(ctx, nil); err != nil {
			return err
		}
		return r.open(ctx, p) // the etcd may be another one by now
	}
	if compacted {
		err = resume(ctx, p.store)
		other = errors.Is(err, journal.ErrOtherHistory)
	}
	switch {
	case other:
		r.config.Logger.Warn("etcd was restored or replaced: the journal begins anew, and keeps the former history apart", "prefix", p.prefix, "through", was.Through, "reason", err)
		return r.began(p, p.writer.BeginAnew(ctx, p.store))
	case err == nil && compacted:
		now := p.writer.Range()
		r.config.Logger.Warn("etcd has compacted events that had not arrived: the journal has a gap", "prefix", p.prefix, "through", was.Through, "gaps", now.Gaps)
	case err == nil:
		r.config.Logger.Info("the journal goes on", "prefix", p.prefix, "oldest", was.Oldest, "through", was.Through, "gaps", was.Gaps)
	}
	return err
}

func (r *Recorder) began(p *part, err error) error {
	if err == nil {
		r.config.Logger.Info("the journal begins", "prefix", p.prefix, "revision", p.writer.Range().Oldest)
	}
	return err
}

// follow adds the events of a watch until it ends. While the disk is slow, events wait in etcd.
func (r *Recorder) follow(ctx context.Context, p *part) error {
	known := p.writer.Range()
	w := p.store.Watch(ctx, known.Prefix, etcdstore.WatchOptions{After: known.Through})
	defer func() { _ = w.Close() }()
	p.watcher.Store(&w)
	var pruned, synced time.Time
	dirty, open := false, false // something is not synced; something has come
	for {
		if time.Since(pruned) > pruneInterval {
			if err := p.writer.Retain(ctx, r.config.Bounds); err != nil {
				return err
			}
			pruned = time.Now()
		}
		if dirty && time.Since(synced) >= syncDelay {
			if err := p.writer.Sync(); err != nil {
				return err
			}
			dirty, synced = false, time.Now()
		}
		wait := progressInterval
		if dirty {
			wait = syncDelay
		}
		step, ok, err := next(ctx, w, wait)
		open = open || ok
		p.overtaken = open && isCompacted(err)
		if err == nil && ok {
			err = r.append(ctx, p, w, step)
			dirty = dirty || len(step.Events) > 0
		}
		if err == nil && !ok && !dirty {
			err = w.RequestProgress(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// append adds a step when the disk has room for it.
func (r *Recorder) append(ctx context.Context, p *part, w etcdstore.Watcher, step etcdstore.Batch) error {
	arrived := time.Now()
	p.unwritten.Store(&arrived)
	defer p.unwritten.Store(nil)
	if err := r.awaitRoomFollowing(ctx, p, w); err != nil {
		return err
	}
	if err := p.writer.Append(step); err != nil {
		return err
	}
	if n := len(step.Events); n > 0 {
		p.events.Add(uint64(n))
		p.bytes.Add(uint64(p.writer.StepSize()))
	}
	return nil
}

// next waits for a step; false: there is none within a time.
func next(ctx context.Context, w etcdstore.Watcher, wait time.Duration) (etcdstore.Batch, bool, error) {
	bound, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	step, err := w.Next(bound)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return etcdstore.Batch{}, false, nil
	}
	return step, err == nil, err
}
