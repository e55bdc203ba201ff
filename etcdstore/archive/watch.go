package archive

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"revtail/etcdstore"
	"revtail/etcdstore/journal"
)

// stepBytes is about how much of values one step of a watch has.
const stepBytes = 1 << 20

// watcher reads the events after a revision.
type watcher struct {
	store   *Store
	parts   []part
	options etcdstore.WatchOptions // After is that of the last step
}

// Watch implements etcdstore.Store. Events have the time at which the gateway received them.
func (s *Store) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	w := &watcher{store: s, parts: s.parts(prefix, o.Exact), options: o}
	return s.NewWatcher(ctx, prefix, o, w.next)
}

// next returns the next step; one without Through: there are no more events.
func (w *watcher) next(ctx context.Context) (etcdstore.Batch, error) {
	if w.options.After >= w.store.info.Newest {
		return etcdstore.Batch{}, nil
	}
	step, err := w.step(ctx)
	if err == nil {
		w.options.After = step.Through
	}
	return step, err
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
