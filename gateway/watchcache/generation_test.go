package watchcache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
	"revtail/gateway/watchcache/history"
)

// replaceable is a store that can be replaced by another one, and be unavailable.
type replaceable struct {
	*memory.Store
	history atomic.Uint64
	former  atomic.Int64
	away    atomic.Bool
	broken  chan struct{} // breaks the open watches; replaced when closed
}

func (r *replaceable) History() uint64 { return r.history.Load() }

func (r *replaceable) Former() etcdstore.Revision { return etcdstore.Revision(r.former.Load()) }

func (r *replaceable) Revision(ctx context.Context) (etcdstore.Revision, error) {
	if r.away.Load() {
		return 0, etcdstore.ErrUnavailable
	}
	return r.Store.Revision(ctx)
}

func (r *replaceable) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	return &breakableWatcher{r.Store.Watch(ctx, prefix, o), r, r.broken}
}

type breakableWatcher struct {
	etcdstore.Watcher
	store  *replaceable
	broken <-chan struct{}
}

func (w *breakableWatcher) Next(ctx context.Context) (etcdstore.Batch, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-w.broken:
			cancel(etcdstore.ErrUnavailable)
		case <-ctx.Done():
		}
	}()
	if w.store.away.Load() {
		return etcdstore.Batch{}, etcdstore.ErrUnavailable
	}
	batch, err := w.Watcher.Next(ctx)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return batch, err
}

// replace breaks all watches and replaces the store by another one.
func (r *replaceable) replace(s *memory.Store) {
	old := r.broken
	r.Store, r.broken = s, make(chan struct{})
	close(old)
}

// storeAt returns a store with an object that was written n times.
func storeAt(n int) *memory.Store {
	s := memory.New()
	for i := range n {
		s.Txn(map[string][]byte{root + "a/x": thing("a/x", fmt.Sprint(i), "")}, nil)
	}
	return s
}

func replaceableBubble(t *testing.T, test func(*world, *replaceable)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := &replaceable{Store: storeAt(20), broken: make(chan struct{})}
		store.history.Store(1)
		w := &world{t: t, store: store.Store}
		w.cache = New(Config{Store: store, Prefix: root, Decode: decodeThing, Logger: slog.New(slog.DiscardHandler)})
		w.start()
		<-w.cache.Filled()
		synctest.Wait() // until the following watch is open
		test(w, store)
	})
}

func (w *world) expectReverted(watcher *Watcher) {
	w.t.Helper()
	_, err := watcher.Next(w.t.Context())
	var reverted *RevertedError
	if !errors.As(err, &reverted) {
		w.t.Errorf("a watcher of a replaced history gets %v", err)
	}
}

// A store is restored to an earlier state, and written to beyond its former revision. Its revision does not show that, but the consistency
// check after the reopened watch finds the difference.
func TestOlderStoreWithLaterWrites(t *testing.T) {
	replaceableBubble(t, func(w *world, store *replaceable) {
		<-time.After(time.Minute)
		synctest.Wait() // until the silence is checked
		watcher, other := w.watch(WatchQuery{After: 21}), storeAt(5)
		for i := range 30 {
			other.Txn(map[string][]byte{root + "b/y": thing("b/y", fmt.Sprint(i), "")}, nil)
		}
		began := time.Now()
		store.replace(other)
		var err error
		for err == nil {
			_, err = watcher.Next(w.t.Context())
		}
		var reverted *RevertedError
		if took := time.Since(began); !errors.As(err, &reverted) || took > 10*time.Second+history.MaxPause {
			w.t.Errorf("after %v the watcher got %v", took, err)
		}
		<-time.After(2 * history.MaxPause)
		w.expectList(ListQuery{}, "a/x=4", "b/y=29")
	})
}

// A store is restored to an earlier state: all watchers end at once, both waiting ones and those that read initial events or history.
func TestOlderStore(t *testing.T) {
	replaceableBubble(t, func(w *world, store *replaceable) {
		waiting, stateful, past := w.watch(WatchQuery{After: 21}), w.watch(WatchQuery{State: true}), w.watch(WatchQuery{After: 3})
		stateful.Begin(w.t.Context())
		if _, err := past.Next(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		published := make(chan struct{})
		go func() {
			defer close(published)
			w.expectReverted(waiting)
		}()
		store.replace(storeAt(5))
		<-published
		w.expectReverted(stateful)
		w.expectReverted(past)
		<-time.After(time.Second)
		if list := w.expectList(ListQuery{}, "a/x=4"); list.Revision != 6 {
			w.t.Errorf("then the cache is at %d, want 6", list.Revision)
		}
		w.store = store.Store
		fresh := w.watch(WatchQuery{After: 6})
		w.put("a/x", "new", "")
		w.expect(fresh, "MODIFIED a/x l=new rv=7")
	})
}

// A store is replaced by another one with more revisions.
func TestSwappedStore(t *testing.T) {
	replaceableBubble(t, func(w *world, store *replaceable) {
		waiting := w.watch(WatchQuery{After: 21})
		store.history.Store(2)
		store.replace(storeAt(40))
		w.expectReverted(waiting)
		<-time.After(time.Second)
		w.expectList(ListQuery{}, "a/x=39")
	})
}

// After a swap no revision of the former history is one of the present history, for watches and for lists of past states. Revision 1, at
// which nothing is written, is one of every history.
func TestRevisionsOfAFormerHistory(t *testing.T) {
	replaceableBubble(t, func(w *world, store *replaceable) {
		store.history.Store(2)
		store.former.Store(21)
		store.replace(storeAt(40))
		<-time.After(time.Second)
		synctest.Wait()
		w.expectReverted(w.watch(WatchQuery{After: 3}))
		w.expectReverted(w.watch(WatchQuery{After: 21}))
		var reverted *RevertedError
		if _, err := w.cache.List(w.t.Context(), ListQuery{At: 21}); !errors.As(err, &reverted) {
			w.t.Errorf("a list of the former history: %v", err)
		}
		w.expectList(ListQuery{At: 22}, "a/x=20")
		w.expectList(ListQuery{AtLeast: 21}, "a/x=39")
		w.expect(w.watch(WatchQuery{After: 40}), "MODIFIED a/x l=39 rv=41")
		if _, err := w.watch(WatchQuery{After: 1}).Next(w.t.Context()); err != nil {
			w.t.Errorf("a watch of everything: %v", err)
		}
	})
}

// No list is fresh while the store is older than the cache, although its watch is silent.
func TestNewestOfAnOlderStore(t *testing.T) {
	replaceableBubble(t, func(w *world, store *replaceable) {
		store.Store = storeAt(5) // its watch does not break
		var unready *NotReadyError
		if at, err := w.cache.Newest(w.t.Context()); !errors.As(err, &unready) {
			w.t.Errorf("the newest revision is %d, %v", at, err)
		}
		<-time.After(time.Second)
		if at, err := w.cache.Newest(w.t.Context()); err != nil || at != 6 {
			w.t.Errorf("then it is %d, %v; want 6", at, err)
		}
		w.expectList(ListQuery{}, "a/x=4")
	})
}

// Watches end cleanly when the store has sent nothing for 30 s. Lists continue, with their age.
func TestUnavailableStoreEndsWatches(t *testing.T) {
	replaceableBubble(t, func(w *world, store *replaceable) {
		watcher := w.watch(WatchQuery{After: 21})
		internal := w.watch(WatchQuery{After: 21, Own: true})
		store.away.Store(true)
		store.replace(store.Store)
		began := time.Now()
		_, err := watcher.Next(w.t.Context())
		if took := time.Since(began); !errors.Is(err, ErrStopped) || took < livenessTimeout-idleProgressPeriod || took > livenessTimeout+idleProgressPeriod {
			w.t.Errorf("a watch ended after %v with %v", took, err)
		}
		if _, err := w.cache.Watch(WatchQuery{After: 21}); err == nil {
			w.t.Error("a new watch was opened after that")
		}
		w.expectList(ListQuery{}, "a/x=19")
		if age := w.cache.Age(); age < livenessTimeout-idleProgressPeriod {
			w.t.Errorf("the age of the state is %v", age)
		}
		store.away.Store(false)
		<-time.After(2 * history.MaxPause)
		if age := w.cache.Age(); age > 2*history.MaxPause {
			w.t.Errorf("the age of the state is %v after the store is back", age)
		}
		if s := w.cache.Stats(); s.WatchLosses == 0 || s.Fills != 1 {
			w.t.Errorf("the figures: %d watches of the store lost, filled %d times", s.WatchLosses, s.Fills)
		}
		w.put("a/x", "back", "")
		w.expect(w.watch(WatchQuery{After: 21}), "MODIFIED a/x l=back rv=22")
		w.expect(internal, "MODIFIED a/x l=back rv=22")
	})
}

// A filled cache has the events before its state, so that clients of a restarted gateway resume from memory.
func TestLookBack(t *testing.T) {
	for name, test := range map[string]struct{ compacted, after etcdstore.Revision }{
		"everything": {0, 1}, "what was not compacted": {15, 16},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &counted{Store: storeAt(20)}
				if test.compacted > 0 {
					if err := store.Compact(test.compacted); err != nil {
						t.Fatal(err)
					}
				}
				w := &world{t: t, store: store.Store, lookBack: lookBack}
				w.cache = New(Config{Store: store, Prefix: root, Decode: decodeThing, Logger: slog.New(slog.DiscardHandler)})
				w.start()
				<-w.cache.Filled()
				before := store.watches.Load()
				want, kind := []string(nil), "ADDED"
				for revision := etcdstore.Revision(2); revision <= 21; revision++ {
					if revision > test.after {
						want = append(want, fmt.Sprintf("%s a/x l=%d rv=%d", kind, revision-2, revision))
					}
					kind = "MODIFIED"
				}
				w.expect(w.watch(WatchQuery{After: test.after}), want...)
				if n := store.watches.Load(); n != before {
					t.Errorf("a client that resumed cost %d watches in etcd", n-before)
				}
			})
		})
	}
}

// counted is a store that counts its watches.
type counted struct {
	*memory.Store
	watches atomic.Int32
}

func (c *counted) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	c.watches.Add(1)
	return c.Store.Watch(ctx, prefix, o)
}

// A cache that differs from etcd ends its watchers and fills again.
func TestConsistencyCheck(t *testing.T) {
	for name, change := range map[string]func(*etcdstore.Page){
		"another revision": func(p *etcdstore.Page) { p.KVs[0].Modified-- },
		"one too many": func(p *etcdstore.Page) {
			p.KVs = append(p.KVs, etcdstore.KV{Key: root + "a/y", Value: thing("a/y", "", ""), Modified: 2})
		},
		"one missing": func(p *etcdstore.Page) { p.KVs = nil },
		"no change":   func(*etcdstore.Page) {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &wrongStore{Store: storeAt(20), change: change}
				w := &world{t: t, store: store.Store}
				w.cache = New(Config{Store: store, Prefix: root, Decode: decodeThing, Logger: slog.New(slog.DiscardHandler)})
				w.start()
				<-w.cache.Filled()
				watcher := w.watch(WatchQuery{After: 21})
				<-time.After(2 * history.CheckPeriod)
				synctest.Wait()
				found := w.cache.Stats().Inconsistencies
				switch {
				case name == "no change" && found == 0:
					w.expect(watcher)
				case found == 1:
					w.expectReverted(watcher)
				default:
					t.Errorf("the check has found %d differences", found)
				}
				w.expectList(ListQuery{}, "a/x=19")
			})
		})
	}
}

// wrongStore is a store with a wrong first page.
type wrongStore struct {
	*memory.Store
	change func(*etcdstore.Page)
}

func (l *wrongStore) List(ctx context.Context, prefix string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	page, err := l.Store.List(ctx, prefix, o)
	if lie := l.change; lie != nil && !o.KeysOnly {
		l.change = nil
		lie(&page)
	}
	return page, err
}
