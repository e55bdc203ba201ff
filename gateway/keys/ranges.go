package keys

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/keys/keyrange"
)

// rangeStore is a store that holds the keys of one range only. A watch cache of it has whole keys for paths.
type rangeStore struct {
	etcdstore.Store
	keys keyrange.Range
}

// newRangesStore returns a store that holds the keys of some ranges only.
func newRangesStore(store etcdstore.Store, keys keyrange.Ranges) etcdstore.Store {
	if len(keys) == 1 {
		return rangeStore{store, keys[0]}
	}
	several := rangesStore{Store: store}
	for _, r := range keys {
		several.ranges = append(several.ranges, rangeStore{store, r})
	}
	return several
}

// List implements etcdstore.Store.
func (s rangeStore) List(ctx context.Context, _ string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	o.Exact = !s.keys.IsPrefix()
	return s.Store.List(ctx, s.keys.String(), o)
}

// Watch implements etcdstore.Store.
func (s rangeStore) Watch(ctx context.Context, _ string, o etcdstore.WatchOptions) etcdstore.Watcher {
	o.Exact = !s.keys.IsPrefix()
	return s.Store.Watch(ctx, s.keys.String(), o)
}

// rangesStore is a store that holds the keys of several ranges only.
type rangesStore struct {
	etcdstore.Store
	ranges []rangeStore // in the order of their keys
}

// List implements etcdstore.Store. It reads one range after the other, all as of one revision.
func (s rangesStore) List(ctx context.Context, _ string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	var all etcdstore.Page
	limit := o.Limit
	for _, r := range s.ranges {
		full := limit > 0 && len(all.KVs) == limit
		switch {
		case full:
			o.Limit = 1 // for the number of keys
		case limit > 0:
			o.Limit = limit - len(all.KVs)
		}
		page, err := r.List(ctx, "", o)
		if err != nil {
			return etcdstore.Page{}, err
		}
		all.Revision, o.At = page.Revision, page.Revision
		if full {
			all.Remaining += int64(len(page.KVs))
		} else {
			all.KVs = append(all.KVs, page.KVs...)
		}
		all.Remaining += page.Remaining
	}
	return all, nil
}

// Watch implements etcdstore.Store.
func (s rangesStore) Watch(ctx context.Context, _ string, o etcdstore.WatchOptions) etcdstore.Watcher {
	watchers := make([]etcdstore.Watcher, len(s.ranges))
	for i, r := range s.ranges {
		watchers[i] = r.Watch(ctx, "", o)
	}
	return newMergedWatcher(ctx, watchers, o.After)
}

const (
	// progressInterval is how long a merged watch waits for an answer to a request for progress before it sends the next one.
	progressInterval = 50 * time.Millisecond
	// maxPendingEvents is about how many events a merged watch holds of the sources that are ahead. Further events wait in the store.
	maxPendingEvents = 4096
)

// mergedWatcher merges several watches of one store. It returns events in the order of revisions, and only complete revisions. When
// one source has events, progress is requested from the others, because events are returned only up to the lowest revision that all
// sources have completed.
type mergedWatcher struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	results chan result    // of all sources
	running sync.WaitGroup // a goroutine for each source

	// only the goroutine that calls Next uses the fields below
	sources  []*source
	pending  int                // events, of all sources
	returned etcdstore.Revision // by Next
	err      error
}

// source is one of the watches.
type source struct {
	etcdstore.Watcher
	read      chan struct{}     // one token has the goroutine call Next once
	reading   bool              // the result of that is still to come
	requested bool              // progress; there was no result since
	events    []etcdstore.Event // that are pending
	through   etcdstore.Revision
}

// result is what Next of a source has returned.
type result struct {
	source *source
	batch  etcdstore.Batch
	err    error
}

var _ etcdstore.Watcher = (*mergedWatcher)(nil)

// newMergedWatcher merges watchers, all of which begin after the same revision. Close closes them.
func newMergedWatcher(ctx context.Context, watchers []etcdstore.Watcher, after etcdstore.Revision) *mergedWatcher {
	m := &mergedWatcher{results: make(chan result), returned: after}
	m.ctx, m.cancel = context.WithCancelCause(ctx)
	for _, w := range watchers {
		s := &source{Watcher: w, read: make(chan struct{}, 1), through: after}
		m.sources = append(m.sources, s)
		m.running.Go(func() { m.run(s) })
	}
	return m
}

// run reads a source, one batch for each token.
func (m *mergedWatcher) run(s *source) {
	for {
		select {
		case <-s.read:
		case <-m.ctx.Done():
			return
		}
		batch, err := s.Next(m.ctx)
		select {
		case m.results <- result{s, batch, err}:
		case <-m.ctx.Done():
			return
		}
	}
}

// Next implements etcdstore.Watcher.
func (m *mergedWatcher) Next(ctx context.Context) (etcdstore.Batch, error) {
	for m.err == nil {
		if batch, ok := m.merge(); ok {
			return batch, nil
		}
		m.readSources()
		m.requestMissing(ctx)
		var again <-chan time.Time
		if m.pending > 0 {
			again = time.After(progressInterval)
		}
		select {
		case r := <-m.results:
			m.add(r)
		case <-again: // etcd may not answer a request for progress
			for _, s := range m.sources {
				s.requested = false
			}
		case <-m.ctx.Done():
			m.err = m.end()
		case <-ctx.Done():
			return etcdstore.Batch{}, fmt.Errorf("watch: %w", ctx.Err())
		}
	}
	return etcdstore.Batch{}, m.err
}

// end returns why the merged watch has ended.
func (m *mergedWatcher) end() error {
	if errors.Is(context.Cause(m.ctx), etcdstore.ErrClosed) {
		return fmt.Errorf("watch: %w", etcdstore.ErrClosed)
	}
	return fmt.Errorf("watch: %w", m.ctx.Err())
}

// through returns the revision that all sources have completed.
func (m *mergedWatcher) through() etcdstore.Revision {
	return slices.MinFunc(m.sources, func(a, b *source) int { return cmp.Compare(a.through, b.through) }).through
}

// readSources reads all sources. When too many events are pending, it reads only the sources that hold back the others.
func (m *mergedWatcher) readSources() {
	through := m.through()
	for _, s := range m.sources {
		if !s.reading && (m.pending < maxPendingEvents || s.through == through) {
			s.reading = true
			s.read <- struct{}{}
		}
	}
}

func (m *mergedWatcher) add(r result) {
	r.source.reading, r.source.requested = false, false
	if r.err != nil {
		m.err = r.err
		if m.ctx.Err() != nil {
			m.err = m.end()
		}
		return
	}
	r.source.through = max(r.source.through, r.batch.Through)
	r.source.events = append(r.source.events, r.batch.Events...)
	m.pending += len(r.batch.Events)
}

// requestMissing requests progress from the sources that have not completed the newest pending revision, once until they answer.
func (m *mergedWatcher) requestMissing(ctx context.Context) {
	var newest etcdstore.Revision
	for _, s := range m.sources {
		if n := len(s.events); n > 0 {
			newest = max(newest, s.events[n-1].Revision)
		}
	}
	for _, s := range m.sources {
		if s.through < newest && !s.requested {
			s.requested = true
			_ = s.RequestProgress(ctx) // best effort: Next tries again
		}
	}
}

// merge returns the events of the revisions that all sources have completed, if there are new ones.
func (m *mergedWatcher) merge() (etcdstore.Batch, bool) {
	through := m.through()
	if through <= m.returned {
		return etcdstore.Batch{}, false
	}
	m.returned = through
	batch := etcdstore.Batch{Through: through}
	for _, s := range m.sources {
		n, _ := slices.BinarySearchFunc(s.events, through+1, func(e etcdstore.Event, r etcdstore.Revision) int { return cmp.Compare(e.Revision, r) })
		batch.Events = append(batch.Events, s.events[:n]...)
		s.events = slices.Clone(s.events[n:])
	}
	m.pending -= len(batch.Events)
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
