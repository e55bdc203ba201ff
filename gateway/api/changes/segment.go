package changes

import (
	"context"
	"slices"

	"revtail/etcdstore"
	"revtail/etcdstore/journal"
	"revtail/gateway/http/response"
)

// segment is a part of the revisions without a gap, both ends inclusive, and the gap that precedes it.
type segment struct {
	from, through etcdstore.Revision
	gap           *journal.Gap // nil: none that the request asks for
}

// segments writes the changes between the gaps, and the gaps, in the order that the request asks for.
func (r *Reader) segments(ctx context.Context, p *response.Body) error {
	all := []segment{{from: r.since}}
	for _, gap := range r.recorded.Gaps {
		if last := &all[len(all)-1]; gap.Until >= last.from && gap.After < r.until {
			last.through = gap.After
			all = append(all, segment{from: gap.Until + 1, gap: &gap})
		}
	}
	all[len(all)-1].through = r.until
	if r.Options.Descending {
		slices.Reverse(all)
	}
	for _, s := range all {
		if s.gap != nil && !r.Options.Descending {
			appendLine(p, gapLine{"GAP", s.gap.After, s.gap.Until})
		}
		write := r.ascend
		switch {
		case r.Options.Count > 0:
			write = r.count
		case r.Options.Descending:
			write = r.descend
		}
		if err := write(ctx, p, s); err != nil || r.next > 0 {
			return err
		}
		if s.gap != nil && r.Options.Descending {
			appendLine(p, gapLine{"GAP", s.gap.After, s.gap.Until})
		}
	}
	return nil
}

// ascend writes the changes of a segment, the oldest one first.
func (r *Reader) ascend(ctx context.Context, p *response.Body, s segment) error {
	return r.events(ctx, s, func(e etcdstore.Event) (bool, error) {
		err := r.event(ctx, p, e)
		return r.next == 0, err
	})
}

// window is how many events a descending response reads at a time.
const window = 50

// descend writes the changes of a segment, the newest one first. It reads the events in windows, each of which is before the last one.
func (r *Reader) descend(ctx context.Context, p *response.Body, s segment) error {
	prefix, exact := r.keys()
	count := window
	if r.Options.Limit > 0 {
		count = min(window, r.Options.Limit+1) // and the one that follows
	}
	for s.from <= s.through {
		after, err := r.Source.Recorder.Last(ctx, prefix, journal.LastOptions{After: s.from - 1, Through: s.through, Exact: exact, Count: count})
		if err != nil {
			return err
		}
		var events []etcdstore.Event
		err = r.events(ctx, segment{from: after + 1, through: s.through}, func(e etcdstore.Event) (bool, error) {
			events = append(events, e)
			return true, nil
		})
		if err != nil {
			return err
		}
		for _, e := range slices.Backward(events) {
			if err := r.event(ctx, p, e); err != nil || r.next > 0 {
				return err
			}
		}
		s.through, count = after, window
	}
	return nil
}

// keys returns the prefix of the keys that the request asks for, or one key.
func (r *Reader) keys() (prefix string, exact bool) {
	switch {
	case r.Target.Scope.Name != "":
		return r.Target.Key(r.Root), true
	case r.Target.Scope.Namespace != "" && r.Target.Resource.Mount == nil:
		return r.prefix + r.Target.Scope.Namespace + "/", false
	}
	return r.prefix, false
}

// events calls a function with the events of a segment, until it returns false or an error.
func (r *Reader) events(ctx context.Context, s segment, each func(etcdstore.Event) (bool, error)) error {
	if s.from > s.through {
		return nil
	}
	prefix, exact := r.keys()
	w := r.Source.Store.Watch(ctx, prefix, etcdstore.WatchOptions{After: s.from - 1, Through: s.through, Exact: exact, Previous: true})
	defer func() { _ = w.Close() }()
	turn := r.Account.Turn()
	defer turn.End()
	for after := s.from - 1; after < s.through; {
		turn.End() // before a read of the disk
		batch, err := w.Next(ctx)
		if err != nil {
			return err
		}
		after = batch.Through
		for _, e := range batch.Events {
			if e.Revision > s.through {
				return nil
			}
			if err := turn.Continue(); err != nil {
				return err
			}
			if more, err := each(e); err != nil || !more {
				return err
			}
		}
	}
	return nil
}
