package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"revtail/etcdstore"
)

const (
	// progressGap is how long a merged watch waits for a range to say how far it is before it asks again.
	progressGap = 50 * time.Millisecond
	// maxAhead is about how many events a merged watch holds of ranges that are ahead of another one: they wait in the store.
	maxAhead = 4096
)

// mergedWatcher is several watches of one store as one: in the order of revisions, and a revision is complete. So it delivers
// as far as all of them are known to be complete. Where one has something to tell, the others are asked how far they are: etcd
// answers within a moment.
type mergedWatcher struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	steps   chan step      // of all sources
	running sync.WaitGroup // a goroutine for each source

	// the fields below are of the goroutine that calls Next
	sources []*source
	waiting int                // events, of all sources
	told    etcdstore.Revision // by Next
	err     error
}

// source is one of the watches.
type source struct {
	etcdstore.Watcher
	turn    chan struct{}     // holds one: it is to be waited for
	waited  bool              // somebody waits for it
	asked   bool              // how far it is, and has not answered
	events  []etcdstore.Event // that wait to be delivered
	through etcdstore.Revision
}

// step is what a source has to tell.
type step struct {
	of    *source
	batch etcdstore.Batch
	err   error
}

var _ etcdstore.Watcher = (*mergedWatcher)(nil)

// newMergedWatcher takes the watchers over, which have all been opened after the same revision, and closes them.
func newMergedWatcher(ctx context.Context, watchers []etcdstore.Watcher, after etcdstore.Revision) *mergedWatcher {
	m := &mergedWatcher{steps: make(chan step), told: after}
	m.ctx, m.cancel = context.WithCancelCause(ctx)
	for _, w := range watchers {
		s := &source{Watcher: w, turn: make(chan struct{}, 1), through: after}
		m.sources = append(m.sources, s)
		m.running.Go(func() { m.listen(s) })
	}
	return m
}

// listen hands on what a source has to tell, whenever it is its turn.
func (m *mergedWatcher) listen(s *source) {
	for {
		select {
		case <-s.turn:
		case <-m.ctx.Done():
			return
		}
		batch, err := s.Next(m.ctx)
		select {
		case m.steps <- step{s, batch, err}:
		case <-m.ctx.Done():
			return
		}
	}
}

// Next implements etcdstore.Watcher.
func (m *mergedWatcher) Next(ctx context.Context) (etcdstore.Batch, error) {
	for m.err == nil {
		if batch, ok := m.complete(); ok {
			return batch, nil
		}
		m.giveTurns()
		m.askBehind(ctx)
		var again <-chan time.Time
		if m.waiting > 0 {
			again = time.After(progressGap)
		}
		select {
		case s := <-m.steps:
			m.take(s)
		case <-again: // an answer may never come
			for _, s := range m.sources {
				s.asked = false
			}
		case <-m.ctx.Done():
			m.err = m.end()
		case <-ctx.Done():
			return etcdstore.Batch{}, fmt.Errorf("watch: %w", ctx.Err())
		}
	}
	return etcdstore.Batch{}, m.err
}

func (m *mergedWatcher) end() error {
	if errors.Is(context.Cause(m.ctx), etcdstore.ErrClosed) {
		return fmt.Errorf("watch: %w", etcdstore.ErrClosed)
	}
	return fmt.Errorf("watch: %w", m.ctx.Err())
}

// behind is how far the merged watch is complete.
func (m *mergedWatcher) behind() etcdstore.Revision {
	return slices.MinFunc(m.sources, func(a, b *source) int { return cmp.Compare(a.through, b.through) }).through
}

// giveTurns has all sources waited for or, when much waits to be delivered, those that are waited for by the others.
func (m *mergedWatcher) giveTurns() {
	behind := m.behind()
	for _, s := range m.sources {
		if !s.waited && (m.waiting < maxAhead || s.through == behind) {
			s.waited = true
			s.turn <- struct{}{}
		}
	}
}

// take enters what a source has told.
func (m *mergedWatcher) take(s step) {
	s.of.waited, s.of.asked = false, false
	if s.err != nil {
		m.err = s.err
		if m.ctx.Err() != nil {
			m.err = m.end()
		}
		return
	}
	s.of.through = max(s.of.through, s.batch.Through)
	s.of.events = append(s.of.events, s.batch.Events...)
	m.waiting += len(s.batch.Events)
}

// askBehind asks those that are not as far as the newest event that waits, each once until it answers.
func (m *mergedWatcher) askBehind(ctx context.Context) {
	var newest etcdstore.Revision
	for _, s := range m.sources {
		if n := len(s.events); n > 0 {
			newest = max(newest, s.events[n-1].Revision)
		}
	}
	for _, s := range m.sources {
		if s.through < newest && !s.asked {
			s.asked = true
			_ = s.RequestProgress(ctx) // best effort: it is asked again
		}
	}
}

// complete is what all sources together have told, if that is more than before.
func (m *mergedWatcher) complete() (etcdstore.Batch, bool) {
	through := m.behind()
	if through <= m.told {
		return etcdstore.Batch{}, false
	}
	m.told = through
	batch := etcdstore.Batch{Through: through}
	for _, s := range m.sources {
		n, _ := slices.BinarySearchFunc(s.events, through+1, func(e etcdstore.Event, r etcdstore.Revision) int { return cmp.Compare(e.Revision, r) })
		batch.Events = append(batch.Events, s.events[:n]...)
		s.events = slices.Clone(s.events[n:])
	}
	m.waiting -= len(batch.Events)
	slices.SortStableFunc(batch.Events, func(a, b etcdstore.Event) int { return cmp.Compare(a.Revision, b.Revision) })
	return batch, true
}

// RequestProgress implements etcdstore.Watcher.
func (m *mergedWatcher) RequestProgress(ctx context.Context) error {
	var errs []error
	for _, s := range m.sources {
		errs = append(errs, s.RequestProgress(ctx))
	}
	return errors.Join(errs...)
}

// Close implements etcdstore.Watcher.
func (m *mergedWatcher) Close() error {
	m.cancel(etcdstore.ErrClosed)
	var errs []error
	for _, s := range m.sources {
		errs = append(errs, s.Close())
	}
	m.running.Wait()
	return errors.Join(errs...)
}
