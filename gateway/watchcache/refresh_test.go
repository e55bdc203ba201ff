package watchcache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
	"revtail/gateway/watchcache/history"
)

// readPeriod is the shortest time between two reads of the newest revision.
const readPeriod = 200 * time.Millisecond

// distant is a store with latency for requests, responses and events.
type distant struct {
	*memory.Store
	asking, answering, delivering func() time.Duration

	mu    sync.Mutex // guards the fields below
	reads int        // of the newest revision
	fail  error      // the error of reads; nil: none
	hang  bool       // reads are not answered
}

func (d *distant) Revision(ctx context.Context) (etcdstore.Revision, error) {
	d.mu.Lock()
	d.reads++
	fail, hang := d.fail, d.hang
	d.mu.Unlock()
	if hang {
		<-ctx.Done()
	}
	if err := errors.Join(await(ctx, d.asking()), fail); err != nil {
		return 0, err
	}
	newest, err := d.Store.Revision(ctx)
	return newest, errors.Join(err, await(ctx, d.answering()))
}

// breaks makes reads fail, or hang, from now on.
func (d *distant) breaks(fail error, hang bool) {
	d.mu.Lock()
	d.fail, d.hang = fail, hang
	d.mu.Unlock()
}

func (d *distant) asked() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reads
}

func (d *distant) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	return &distantWatcher{Watcher: &singleWatcher{Watcher: d.Store.Watch(ctx, prefix, o)}, store: d}
}

// distantWatcher delivers one revision at a time.
type distantWatcher struct {
	etcdstore.Watcher
	store *distant
	next  *etcdstore.Batch // in transit; nil: none
	due   time.Time
}

func (w *distantWatcher) Next(ctx context.Context) (etcdstore.Batch, error) {
	if w.next == nil {
		batch, err := w.Watcher.Next(ctx)
		if err != nil {
			return batch, err
		}
		w.next, w.due = &batch, time.Now().Add(w.store.delivering())
	}
	if err := await(ctx, time.Until(w.due)); err != nil {
		return etcdstore.Batch{}, err
	}
	batch := *w.next
	w.next = nil
	return batch, nil
}

func await(ctx context.Context, d time.Duration) error {
	history.Sleep(ctx, d)
	return ctx.Err()
}

func always(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

// distantBubble runs a test with a cache of a distant store.
func distantBubble(t *testing.T, d *distant, test func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d.Store = memory.New()
		w := &world{t: t, store: d.Store}
		w.cache = New(Config{Store: d, Prefix: root, Decode: decodeThing, Logger: slog.New(slog.DiscardHandler)})
		w.start()
		<-w.cache.Filled()
		synctest.Wait()
		test(w)
	})
}

// errand is a sequence of writes and calls of Refresh, some milliseconds apart.
type errand struct {
	steps                         []step
	asking, answering, delivering []int // milliseconds, in turn
}

type step struct {
	after int
	does  string
}

var drawErrand = rapid.Custom(func(t *rapid.T) errand {
	delays := func(label string) []int { return rapid.SliceOfN(rapid.IntRange(0, 30), 1, 5).Draw(t, label) }
	return errand{
		steps: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
			return step{rapid.SampledFrom([]int{0, 0, 1, 7, 40}).Draw(t, "after"), rapid.SampledFrom([]string{"write", "write elsewhere", "refresh"}).Draw(t, "does")}
		}), 1, 40).Draw(t, "steps"),
		asking: delays("asking"), answering: delays("answering"), delivering: delays("delivering"),
	}
})

// inTurn returns the delays in turn.
func inTurn(delays []int) func() time.Duration {
	var mu sync.Mutex
	turn := -1
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		turn++
		return time.Duration(delays[turn%len(delays)]) * time.Millisecond
	}
}

// Whatever is written meanwhile, and with any latency, the cache has every write after Refresh that was acknowledged before the call.
func TestRefreshIsExact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		e := drawErrand.Draw(rt, "errand")
		var problems []string
		d := &distant{asking: inTurn(e.asking), answering: inTurn(e.answering), delivering: inTurn(e.delivering)}
		distantBubble(t, d, func(w *world) { problems = e.run(w) })
		if len(problems) > 0 {
			rt.Fatalf("%s", strings.Join(problems, "\n"))
		}
	})
}

func (e errand) run(w *world) (problems []string) {
	acknowledged := etcdstore.Revision(1)
	var mu sync.Mutex // guards problems
	var callers sync.WaitGroup
	for i, step := range e.steps {
		<-time.After(time.Duration(step.after) * time.Millisecond)
		switch step.does {
		case "write":
			acknowledged = w.store.Txn(map[string][]byte{root + "a/x": thing("a/x", fmt.Sprint(i), "")}, nil)
		case "write elsewhere":
			acknowledged = w.store.Txn(map[string][]byte{"/elsewhere": nil}, nil)
		default:
			want, began := acknowledged, time.Now()
			callers.Go(func() {
				through, err := w.cache.Refresh(w.t.Context())
				holds, took := w.cache.Stats().Revision, time.Since(began)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil && (through < want || holds < through):
					problems = append(problems, fmt.Sprintf("step %d: %d is acknowledged, Refresh says %d, and the cache is at %d", i, want, through, holds))
				case err != nil && (!errors.Is(err, context.DeadlineExceeded) || took != refreshTimeout || holds < through):
					problems = append(problems, fmt.Sprintf("step %d: %v after %v; Refresh says %d, and the cache is at %d", i, err, took, through, holds))
				}
			})
		}
	}
	callers.Wait()
	return problems
}

// refreshes starts calls of Refresh, and returns their errors.
func refreshes(w *world, n int) <-chan error {
	errs := make(chan error, n)
	for range n {
		go func() {
			_, err := w.cache.Refresh(w.t.Context())
			errs <- err
		}()
	}
	synctest.Wait()
	return errs
}

func wantErrors(t *testing.T, errs <-chan error, n int, want error) {
	t.Helper()
	for range n {
		if err := <-errs; !errors.Is(err, want) {
			t.Fatalf("Refresh returns %v, want %v", err, want)
		}
	}
}

func TestRefreshesShareReads(t *testing.T) {
	const callers = 10_000
	d := &distant{asking: always(0), answering: always(5 * time.Millisecond), delivering: always(0)}
	distantBubble(t, d, func(w *world) {
		before := d.asked()
		first := refreshes(w, 1)
		w.put("a/x", "1", "") // later than the read in transit
		others := refreshes(w, callers)
		if reads := d.asked() - before; reads != 1 {
			t.Errorf("there are %d reads while one is in transit", reads)
		}
		wantErrors(t, first, 1, nil)
		wantErrors(t, others, callers, nil)
		if reads := d.asked() - before; reads != 2 {
			t.Errorf("%d further callers read %d times, want once", callers, reads-1)
		}

		// Calls one after the other, as for bookmarks, share reads too.
		before = d.asked()
		var each []<-chan error
		for range 1000 {
			each = append(each, refreshes(w, 1))
			<-time.After(time.Millisecond)
		}
		for _, one := range each {
			wantErrors(t, one, 1, nil)
		}
		if reads := d.asked() - before; reads > int(time.Second/readPeriod)+1 {
			t.Errorf("in a second there are %d reads, want one in %v", reads, readPeriod)
		}
	})
}

// In a quiet store one read is enough, without progress of the watch.
func TestRefreshOfAQuietStoreNeedsOneRead(t *testing.T) {
	distantBubble(t, &distant{asking: always(0), answering: always(time.Millisecond), delivering: always(0)}, func(w *world) {
		began := time.Now()
		if through, err := w.cache.Refresh(w.t.Context()); err != nil || through != 1 || time.Since(began) != time.Millisecond {
			t.Errorf("Refresh returns %d, %v after %v", through, err, time.Since(began))
		}
	})
}

// wantLate expects Refresh to time out, with the revision that the cache has.
func wantLate(w *world, known etcdstore.Revision) {
	w.t.Helper()
	began := time.Now()
	through, err := w.cache.Refresh(w.t.Context())
	if through != known || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != refreshTimeout {
		w.t.Errorf("Refresh returns %d, %v after %v; want %d after %v", through, err, time.Since(began), known, refreshTimeout)
	}
}

func TestRefreshWithoutEtcd(t *testing.T) {
	d := &distant{asking: always(0), answering: always(0), delivering: always(0)}
	distantBubble(t, d, func(w *world) {
		known := w.put("a/x", "1", "")
		d.breaks(etcdstore.ErrUnavailable, false)
		wantErrors(t, refreshes(w, 2), 2, etcdstore.ErrUnavailable)
		<-time.After(readPeriod)
		d.breaks(nil, true)
		wantLate(w, known)
		d.breaks(nil, false)
		wantErrors(t, refreshes(w, 1), 1, nil)
	})
}

func TestRefreshWithAWatchThatHangs(t *testing.T) {
	distantBubble(t, &distant{asking: always(0), answering: always(0), delivering: always(time.Hour)}, func(w *world) {
		known := w.cache.Stats().Revision
		w.put("a/x", "1", "")
		wantLate(w, known)
	})
}

// Writes to other prefixes are no events of the watch: Refresh requests its progress.
func TestRefreshCountsWritesToOtherPrefixes(t *testing.T) {
	distantBubble(t, &distant{asking: always(0), answering: always(0), delivering: always(0)}, func(w *world) {
		for range 20 {
			elsewhere := w.store.Txn(map[string][]byte{"/elsewhere": nil}, nil)
			if through, err := w.cache.Refresh(w.t.Context()); err != nil || through != elsewhere {
				t.Errorf("Refresh returns %d, %v; want %d", through, err, elsewhere)
			}
		}
	})
}

// A cancelled call does not end the others.
func TestRefreshEndsWithItsContext(t *testing.T) {
	distantBubble(t, &distant{asking: always(50 * time.Millisecond), answering: always(0), delivering: always(0)}, func(w *world) {
		ctx, cancel := context.WithCancel(w.t.Context())
		left := make(chan error)
		go func() {
			_, err := w.cache.Refresh(ctx)
			left <- err
		}()
		synctest.Wait()
		others := refreshes(w, 3)
		began := time.Now()
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) || time.Now() != began {
			t.Errorf("a cancelled caller gets %v after %v", err, time.Since(began))
		}
		wantErrors(t, others, 3, nil)
	})
}

func TestRefreshOfACacheThatStops(t *testing.T) {
	distantBubble(t, &distant{asking: always(time.Hour), answering: always(0), delivering: always(0)}, func(w *world) {
		asked := refreshes(w, 1)
		waiting := refreshes(w, 3)
		began := time.Now()
		w.stop()
		wantErrors(t, asked, 1, ErrStopped)
		wantErrors(t, waiting, 3, ErrStopped)
		wantErrors(t, refreshes(w, 1), 1, ErrStopped)
		if time.Now() != began {
			t.Errorf("they ended after %v", time.Since(began))
		}
	})
}
