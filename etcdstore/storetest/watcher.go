package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"revtail/etcdstore"
)

var watchEndTests = map[string]func(*fixture){
	"close": func(f *fixture) {
		w := f.watch(f.prefix, f.revision())
		w.close()
		w.close()
		_, err := w.tryNext(timeout)
		f.wantError("Next after Close", err, etcdstore.ErrClosed)
	},
	"close-ends-a-waiting-next": func(f *fixture) {
		w := f.watch(f.prefix, f.revision())
		result := make(chan error)
		go func() {
			_, err := w.Next(f.ctx())
			result <- err
		}()
		w.close()
		select {
		case err := <-result:
			f.wantError("Next", err, etcdstore.ErrClosed)
		case <-time.After(timeout):
			f.Fatal("Next still waits")
		}
	},
	"close-while-events-wait": func(f *fixture) {
		after := f.revision()
		f.history(20)
		w := f.watch(f.prefix, after)
		w.next()
		f.history(20)
		w.close()
		_, err := w.lastError()
		f.wantError("Next after Close", err, etcdstore.ErrClosed)
	},
	"ctx": func(f *fixture) {
		ctx, cancel := context.WithCancel(f.ctx())
		w := f.watchCtx(ctx, f.prefix, f.revision())
		cancel()
		_, err := w.lastError()
		f.wantError("Next after the watch's context", err, context.Canceled)
	},
	"ctx-of-next": func(f *fixture) {
		w := f.watch(f.prefix, f.revision())
		for range 20 {
			_, err := w.tryNext(time.Millisecond)
			f.wantError("Next with a short context", err, context.DeadlineExceeded)
		}
		want := f.history(5)
		f.equal("events after it", want, w.events(len(want)))
	},
	"same-error-for-ever": func(f *fixture) {
		ctx, cancel := context.WithCancel(f.ctx())
		defer cancel()
		first := f.create("a", "1")
		f.history(3)
		f.compact(f.revision())
		closed := f.watch(f.prefix, f.revision())
		closed.close()
		cancelled := f.watchCtx(ctx, f.prefix, f.revision())
		cancel()
		for name, w := range map[string]*watch{
			"compacted": f.watch(f.prefix, first), "closed": closed, "cancelled": cancelled, "invalid": f.watch("", first),
		} {
			_, err := w.lastError()
			w.close()
			for range 3 {
				_, again := w.tryNext(timeout)
				f.equal(name, fmt.Sprint(err), fmt.Sprint(again))
				f.wantError(name, again, err)
			}
		}
	},
	"invalid": func(f *fixture) {
		rev := f.revision()
		for what, w := range map[string]*watch{
			"empty prefix": f.watch("", rev), "no revision": f.watch(f.prefix, 0), "negative revision": f.watch(f.prefix, -1),
		} {
			_, err := w.tryNext(timeout)
			f.wantError(what, err, etcdstore.ErrInvalid)
		}
	},
}

// history creates, updates and deletes keys, n times in all, and returns the events.
func (f *fixture) history(n int) []etcdstore.Event {
	f.Helper()
	var events []etcdstore.Event
	base := int(f.revision())
	live := map[string]*etcdstore.KV{}
	for i := range n {
		name := fmt.Sprintf("h%d-%d", base, i%7)
		prev := live[name]
		value := fmt.Sprint(i)
		switch {
		case prev == nil:
			rev := f.create(name, value)
			live[name] = f.kv(name, value, rev, rev)
			events = append(events, f.put(live[name], nil))
		case i%5 == 0:
			delete(live, name)
			events = append(events, f.del(f.delete(name), name, prev))
		default:
			live[name] = f.kv(name, value, prev.Created, f.update(name, value, prev.Modified))
			events = append(events, f.put(live[name], prev))
		}
	}
	return events
}

// watch is a watcher that fails the test instead of returning errors, and checks each batch.
type watch struct {
	etcdstore.Watcher
	f       *fixture
	through etcdstore.Revision
}

func (f *fixture) watch(prefix string, after etcdstore.Revision) *watch {
	return f.watchCtx(f.ctx(), prefix, after)
}

func (f *fixture) watchCtx(ctx context.Context, prefix string, after etcdstore.Revision) *watch {
	w := &watch{Watcher: f.Watch(ctx, prefix, etcdstore.WatchOptions{After: after, Previous: true}), f: f, through: after}
	f.Cleanup(w.close)
	return w
}

func (w *watch) close() {
	if err := w.Close(); err != nil {
		w.f.Errorf("Close: %v", err)
	}
}

// tryNext is Next with a timeout.
func (w *watch) tryNext(bound time.Duration) (etcdstore.Batch, error) {
	ctx, cancel := context.WithTimeout(w.f.ctx(), bound)
	defer cancel()
	return w.Next(ctx)
}

// lastError calls Next until it fails.
func (w *watch) lastError() (etcdstore.Batch, error) {
	for {
		if batch, err := w.tryNext(timeout); err != nil {
			return batch, err
		}
	}
}

func (w *watch) next() etcdstore.Batch {
	w.f.Helper()
	batch := must(w.tryNext(timeout))(w.f, "Next")
	w.f.checkBatch(batch, w.through)
	w.through = batch.Through
	return batch
}

// events returns the next n events or, with the rest of the last batch, more.
func (w *watch) events(n int) []etcdstore.Event {
	w.f.Helper()
	var events []etcdstore.Event
	for len(events) < n {
		events = append(events, w.next().Events...)
	}
	return events
}

func (w *watch) requestProgress() {
	w.f.Helper()
	if err := w.RequestProgress(w.f.ctx()); err != nil {
		w.f.Fatalf("RequestProgress: %v", err)
	}
}

// progress requests progress until the watch is complete up to rev, and returns its revision. Events before that are an error.
func (w *watch) progress(rev etcdstore.Revision) etcdstore.Revision {
	w.f.Helper()
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); {
		w.requestProgress()
		batch, err := w.tryNext(100 * time.Millisecond)
		if errors.Is(err, context.DeadlineExceeded) {
			continue
		}
		if err != nil {
			w.f.Fatalf("Next: %v", err)
		}
		w.f.checkBatch(batch, w.through)
		w.f.equal("events before progress", []etcdstore.Event(nil), batch.Events)
		if w.through = batch.Through; w.through >= rev {
			return w.through
		}
	}
	w.f.Fatalf("no progress to %d", rev)
	return 0
}

// checkBatch checks a batch after through: its events are ordered, later than through and unique, and Through is not before them.
func (f *fixture) checkBatch(batch etcdstore.Batch, through etcdstore.Revision) {
	f.Helper()
	if batch.Through < through {
		f.Errorf("Through goes back from %d to %d", through, batch.Through)
	}
	last := through
	seen := map[etcdstore.Revision]map[string]bool{}
	for i, ev := range batch.Events {
		if ev.Revision < last || ev.Revision == through {
			f.Errorf("revision %d after %d, of a batch after %d", ev.Revision, last, through)
		}
		if seen[ev.Revision] == nil {
			seen[ev.Revision] = map[string]bool{}
		}
		if seen[ev.Revision][ev.Key] {
			f.Errorf("%s twice at revision %d", ev.Key, ev.Revision)
		}
		seen[ev.Revision][ev.Key] = true
		if last = ev.Revision; i == len(batch.Events)-1 && batch.Through < last {
			f.Errorf("Through %d before its event at %d", batch.Through, last)
		}
	}
}
