package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"revtail/etcdstore"
	"revtail/etcdstore/journal"
)

// stepBytes is about how much of values one step of a watch has.
const stepBytes = 1 << 20

// watcher reads the events after a revision, and then waits for its end.
type watcher struct {
	store    *Store
	ctx      context.Context //nolint:containedctx // that of Watch
	prefix   string
	began    etcdstore.Revision // After of Watch
	parts    []part
	progress chan struct{} // holds one request
	closing  sync.Once
	closed   chan struct{}

	// Only Next uses the fields below.
	options etcdstore.WatchOptions // After is that of the last step
	err     error
}

var _ etcdstore.Watcher = (*watcher)(nil)

// Watch implements etcdstore.Store. Events have the time at which the gateway received them.
func (s *Store) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	w := &watcher{
		store: s, ctx: ctx, prefix: prefix, began: o.After, parts: s.parts(prefix, o.Exact), options: o, progress: make(chan struct{}, 1), closed: make(chan struct{}),
	}
	switch {
	case prefix == "":
		w.fail(fmt.Errorf("%w: the prefix must not be empty", etcdstore.ErrInvalid))
	case o.After <= 0:
		w.fail(fmt.Errorf("%w: a watch needs a revision to begin after", etcdstore.ErrInvalid))
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
		if w.options.After < w.store.info.Newest {
			step, err := w.step(ctx)
			switch {
			case err != nil && ctx.Err() != nil:
				return etcdstore.Batch{}, fmt.Errorf("watch %q: %w", w.prefix, ctx.Err())
			case err != nil:
				w.fail(err)
				continue
			}
			w.options.After = step.Through
			return step, nil
		}
		select {
		case <-w.progress:
			if newest := w.store.info.Newest; newest > w.began {
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

// step reads the next events of all parts. They are complete through the least revision that a part has reached.
func (w *watcher) step(ctx context.Context) (etcdstore.Batch, error) {
	out := etcdstore.Batch{Through: w.store.info.Newest}
	for _, p := range w.parts {
		if w.options.After >= p.Through { // it has nothing later
			continue
		}
		step, err := w.store.journal.Events(ctx, p.History, p.within, journal.EventOptions{
			After: w.options.After, Exact: w.options.Exact, Previous: w.options.Previous, Through: w.options.Through, Bytes: stepBytes, Partial: true, Recorded: true,
		})
		if errors.Is(err, journal.ErrUnknown) {
			return etcdstore.Batch{}, &etcdstore.CompactedError{Requested: w.options.After, Compacted: p.Oldest}
		}
		if err != nil {
			return etcdstore.Batch{}, err
		}
		if step.Through < p.Through {
			out.Through = min(out.Through, step.Through)
		}
		out.Events = append(out.Events, step.Events...)
	}
	if len(w.parts) > 1 {
		slices.SortStableFunc(out.Events, func(a, b etcdstore.Event) int { return cmp.Compare(a.Revision, b.Revision) })
		out.Events = slices.DeleteFunc(out.Events, func(e etcdstore.Event) bool { return e.Revision > out.Through })
	}
	if n := len(out.Events); n > 0 {
		out.Received = out.Events[n-1].Received
	}
	return out, nil
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
