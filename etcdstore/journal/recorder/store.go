package recorder

import (
	"context"
	"errors"
	"sync"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/journal"
)

// Store is an etcd whose compacted revisions are read from a journal. All else is that of the etcd.
type Store struct {
	etcdstore.Store
	recorder *Recorder
}

// NewStore returns a store over the etcd of a recorder.
func NewStore(etcd etcdstore.Store, r *Recorder) *Store { return &Store{etcd, r} }

// List implements etcdstore.Store.
func (s *Store) List(ctx context.Context, prefix string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	page, err := s.Store.List(ctx, prefix, o)
	if !isCompacted(err) || o.At == 0 || !s.recorder.isCurrent(prefix) {
		return page, err
	}
	kept, failed := s.recorder.journal.List(ctx, s.History(), prefix, o)
	if errors.Is(failed, journal.ErrUnknown) || !s.recorder.isCurrent(prefix) { // it may have become another history meanwhile
		return page, err
	}
	return kept, failed
}

func isCompacted(err error) bool { return errors.As(err, new(*etcdstore.CompactedError)) }

// Watch implements etcdstore.Store.
func (s *Store) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	return &watcher{store: s, ctx: ctx, prefix: prefix, options: o, etcd: s.Store.Watch(ctx, prefix, o)}
}

// watcher reads from etcd, and where that has compacted the events, from the journal.
type watcher struct {
	store   *Store
	ctx     context.Context //nolint:containedctx // that of Watch
	prefix  string
	options etcdstore.WatchOptions // After is that of the last step
	replays bool                   // the next step is one of the journal; only Next uses it

	mu     sync.Mutex // guards the fields below
	etcd   etcdstore.Watcher
	closed bool
}

// replayBytes is about how much of values one step of the journal has.
const replayBytes = 1 << 20

// Next implements etcdstore.Watcher.
func (w *watcher) Next(ctx context.Context) (etcdstore.Batch, error) {
	var lost error // of etcd
	for {
		if w.replays {
			step, err := w.replay(ctx)
			gap := errors.Is(err, journal.ErrUnknown)
			if gap {
				err = lost // nil: the journal has had events until now, and etcd says what it has compacted
			}
			if err != nil || !gap && step.Through > w.options.After {
				w.options.After = max(w.options.After, step.Through)
				return step, err
			}
			w.replays = false
			w.reopen()
		}
		step, err := w.current().Next(ctx)
		if err == nil {
			w.options.After = step.Through
		}
		if !isCompacted(err) || !w.store.recorder.isCurrent(w.prefix) {
			return step, err
		}
		if lost != nil { // the journal does not have yet what etcd has compacted
			if err := pause(ctx); err != nil {
				return etcdstore.Batch{}, err
			}
		}
		lost, w.replays = err, true
	}
}

// lagPause is the time between two looks for events that the journal does not have yet.
const lagPause = 20 * time.Millisecond

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(lagPause):
		return nil
	}
}

// replay reads the next step from the journal. A step up to the last one says that there is none yet.
func (w *watcher) replay(ctx context.Context) (etcdstore.Batch, error) {
	if !w.store.recorder.isCurrent(w.prefix) {
		return etcdstore.Batch{}, journal.ErrUnknown
	}
	return w.store.recorder.journal.Events(ctx, w.store.History(), w.prefix, journal.EventOptions{
		After: w.options.After, Exact: w.options.Exact, Previous: w.options.Previous, Bytes: replayBytes,
	})
}

func (w *watcher) current() etcdstore.Watcher {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.etcd
}

// reopen goes on with etcd after the last step.
func (w *watcher) reopen() {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.etcd.Close()
	w.etcd = w.store.Store.Watch(w.ctx, w.prefix, w.options)
	if w.closed {
		_ = w.etcd.Close()
	}
}

// RequestProgress implements etcdstore.Watcher.
func (w *watcher) RequestProgress(ctx context.Context) error { return w.current().RequestProgress(ctx) }

// Close implements etcdstore.Watcher.
func (w *watcher) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	return w.etcd.Close()
}
