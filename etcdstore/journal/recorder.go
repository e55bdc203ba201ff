package journal

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"revtail/etcdstore"
)

// Config configures a Recorder.
type Config struct {
	Store    etcdstore.Store // the etcd itself: values are kept as it has them
	Prefixes []string        // of the keys that are recorded; none begins with another one
	// Omit says for which values only the revisions are kept; nil: for none.
	Omit      func(key string, value []byte) bool
	Retention time.Duration // how long events are kept; zero: without end
	MaxSize   int64         // of the journal on the disk, in bytes; zero: without bound
	Logger    *slog.Logger
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
	// sizeSlack is the part of the maximal size that is freed at a time, because pruning reads the whole journal.
	sizeSlack = 10
)

// Recorder writes the events of an etcd into a journal. It never delays a delivery: its watches are its own.
type Recorder struct {
	journal *Journal
	config  Config
	parts   []*part
}

// part records one prefix.
type part struct {
	prefix string
	writer *Writer // only the goroutine of the part uses it
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

// NewRecorder returns a recorder. Ranges of other prefixes are former ones from now on. The caller runs the recorder, and closes the journal afterwards.
func NewRecorder(j *Journal, c Config) (*Recorder, error) {
	r := &Recorder{journal: j, config: c}
	for _, known := range j.Ranges() {
		if !known.Former && !slices.Contains(c.Prefixes, known.Prefix) {
			if err := j.end(known); err != nil {
				return nil, err
			}
		}
	}
	for _, prefix := range c.Prefixes {
		w := j.Writer(prefix, c.Omit)
		w.tails.limit = tailLimit(len(c.Prefixes))
		r.parts = append(r.parts, &part{prefix: prefix, writer: w})
	}
	return r, nil
}

// Run records until ctx ends. The error is always nil: what fails is reported, and tried again.
func (r *Recorder) Run(ctx context.Context) error {
	var running sync.WaitGroup
	for _, p := range r.parts {
		running.Go(func() { r.runPart(ctx, p) })
	}
	running.Wait()
	return nil
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

// open makes the range one of the present history, to which events can be added.
func (r *Recorder) open(ctx context.Context, p *part) error {
	resume := p.writer.Rejoin
	if p.overtaken && r.journal.hasRoom() {
		resume = p.writer.Begin
	}
	p.overtaken = false
	if err := r.awaitRoom(ctx); err != nil {
		return err
	}
	was := p.writer.Range()
	if was.Through == 0 {
		return r.began(p, p.writer.Begin(ctx, r.config.Store))
	}
	err := p.writer.Verify(ctx, r.config.Store)
	rejoined := errors.As(err, new(*etcdstore.CompactedError))
	if rejoined {
		err = resume(ctx, r.config.Store)
	}
	switch {
	case errors.Is(err, ErrOtherHistory):
		r.config.Logger.Warn("etcd was restored or replaced: the journal begins anew, and keeps the former history apart", "prefix", p.prefix, "through", was.Through, "reason", err)
		return r.began(p, p.writer.BeginAnew(ctx, r.config.Store))
	case err == nil && rejoined:
		now := p.writer.Range()
		r.config.Logger.Warn("etcd has compacted events that had not arrived: the journal has a gap", "prefix", p.prefix, "through", was.Through, "gaps", now.Gaps)
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
	w := r.config.Store.Watch(ctx, known.Prefix, etcdstore.WatchOptions{After: known.Through})
	defer func() { _ = w.Close() }()
	p.watcher.Store(&w)
	var pruned, synced time.Time
	dirty, open := false, false // something is not synced; something has come
	for {
		if time.Since(pruned) > pruneInterval {
			if err := r.prune(ctx, p.writer); err != nil {
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
			err = r.append(ctx, p, step)
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
func (r *Recorder) append(ctx context.Context, p *part, step etcdstore.Batch) error {
	arrived := time.Now()
	p.unwritten.Store(&arrived)
	defer p.unwritten.Store(nil)
	if err := r.awaitRoom(ctx); err != nil {
		return err
	}
	if err := p.writer.Append(step); err != nil {
		return err
	}
	if n := len(step.Events); n > 0 {
		p.events.Add(uint64(n))
		p.bytes.Add(uint64(p.writer.bytes))
	}
	return nil
}

// awaitRoom waits until the disk has room. Events wait in etcd meanwhile.
func (r *Recorder) awaitRoom(ctx context.Context) error {
	if r.journal.hasRoom() {
		return nil
	}
	r.config.Logger.Error("the journal is not written, because its disk has less than 256 MiB free")
	for !r.journal.hasRoom() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryPause):
		}
	}
	r.config.Logger.Info("the journal is written again")
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

// prune keeps the bounds of age and size.
func (r *Recorder) prune(ctx context.Context, w *Writer) error {
	for _, other := range r.journal.Ranges() {
		if err := r.pruneFormer(other); err != nil {
			return err
		}
	}
	oldest, current := etcdstore.Revision(0), w.Range()
	if r.config.Retention > 0 {
		revision, _, ok, err := r.journal.At(current, time.Now().Add(-r.config.Retention))
		if err != nil {
			return err
		}
		if ok {
			oldest = revision
		}
	}
	if size := r.journal.Size(); r.config.MaxSize > 0 && size > r.config.MaxSize {
		excess := float64(size-r.config.MaxSize+r.config.MaxSize/sizeSlack) / float64(size)
		oldest = max(oldest, current.Oldest+etcdstore.Revision(excess*float64(current.Through-current.Oldest)))
	}
	return w.Prune(ctx, oldest)
}

// pruneFormer removes a former history whose last event is too old.
func (r *Recorder) pruneFormer(of Range) error {
	if !of.Former || r.config.Retention == 0 {
		return nil
	}
	last, err := r.journal.Newest(of)
	if err != nil || time.Since(last) < r.config.Retention {
		return err
	}
	return r.journal.Remove(of)
}
