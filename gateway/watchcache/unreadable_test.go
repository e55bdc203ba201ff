package watchcache

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
)

// lockedStore is a store whose values with the label "locked" cannot be decrypted until unlocked is set.
type lockedStore struct {
	*memory.Store
	unlocked atomic.Bool
}

func (s *lockedStore) lock(kv etcdstore.KV) etcdstore.KV {
	if !s.unlocked.Load() && bytes.Contains(kv.Value, []byte(`"locked"`)) {
		kv.Value, kv.Unreadable = []byte("k8s:enc:"), &etcdstore.UnreadableError{Key: kv.Key, Reason: "no key"}
	}
	return kv
}

func (s *lockedStore) Get(ctx context.Context, key string) (etcdstore.KV, etcdstore.Revision, error) {
	kv, revision, err := s.Store.Get(ctx, key)
	return s.lock(kv), revision, err
}

func (s *lockedStore) List(ctx context.Context, prefix string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	page, err := s.Store.List(ctx, prefix, o)
	for i, kv := range page.KVs {
		page.KVs[i] = s.lock(kv)
	}
	return page, err
}

func (s *lockedStore) Watch(ctx context.Context, prefix string, o etcdstore.WatchOptions) etcdstore.Watcher {
	return lockedWatcher{s.Store.Watch(ctx, prefix, o), s}
}

type lockedWatcher struct {
	etcdstore.Watcher
	store *lockedStore
}

func (w lockedWatcher) Next(ctx context.Context) (etcdstore.Batch, error) {
	batch, err := w.Watcher.Next(ctx)
	var events []etcdstore.Event
	for _, e := range batch.Events {
		for _, state := range []**etcdstore.KV{&e.KV, &e.Prev} {
			if *state != nil {
				locked := w.store.lock(**state)
				*state = &locked
			}
		}
		events = append(events, e)
	}
	batch.Events = events
	return batch, err
}

// newLockedWorld starts a cache over a store with values that cannot be decrypted.
func newLockedWorld(t *testing.T, prepare func(*memory.Store)) (*world, *lockedStore) {
	t.Helper()
	store := &lockedStore{Store: memory.New()}
	prepare(store.Store)
	w := &world{t: t, store: store.Store, lookBack: 100}
	w.cache = New(Config{Store: store, Prefix: root, Decode: decodeThing, Logger: slog.New(slog.DiscardHandler)})
	w.start()
	return w, store
}

func putThing(store *memory.Store, path, label string) {
	store.Txn(map[string][]byte{root + path: thing(path, label, "")}, nil)
}

// names returns the paths of a list, or its error.
func (w *world) names(q ListQuery) (names []string, err error) {
	w.t.Helper()
	list, err := w.cache.List(w.t.Context(), q)
	if err != nil {
		return nil, err
	}
	for o := range list.Objects {
		names = append(names, o.Path())
	}
	return names, nil
}

// TestUnreadableState checks that no state is shown without an object that cannot be decrypted, and that the others are served; and that
// the object is shown soon after its key is known.
func TestUnreadableState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, store := newLockedWorld(t, func(s *memory.Store) {
			putThing(s, "a/1", "open")
			putThing(s, "b/1", "locked")
			putThing(s, "b/2", "open")
		})
		wantUnreadable := func(what string, err error) {
			t.Helper()
			if unreadable, ok := errors.AsType[*etcdstore.UnreadableError](err); !ok || unreadable.Key != root+"b/1" {
				t.Errorf("%s: %v, want the error of b/1", what, err)
			}
		}
		_, err := w.names(ListQuery{})
		wantUnreadable("list of all", err)
		_, err = w.names(ListQuery{Namespace: "b", Selector: parse(t, "l=open", "")})
		wantUnreadable("list with a selector", err)
		if names, err := w.names(ListQuery{Namespace: "a"}); err != nil || len(names) != 1 {
			t.Errorf("list of another namespace: %v, %v", names, err)
		}
		_, _, err = w.drain(w.watch(WatchQuery{State: true}))
		wantUnreadable("initial events", err)
		w.expect(w.watch(WatchQuery{State: true, Namespace: "a"}), "ADDED a/1 l=open rv=2")
		w.expect(w.watch(WatchQuery{State: true, Own: true}), "ADDED a/1 l=open rv=2", "ADDED b/2 l=open rv=4")
		if o := w.cache.Peek("b/1"); o == nil || o.Unreadable() == nil {
			t.Errorf("the object is %+v, want one with the reason", o)
		}

		after := w.watch(WatchQuery{After: 4})
		w.expect(after)
		store.unlocked.Store(true)
		<-time.After(retryUnreadable + time.Second) // on the clock of the bubble
		if names, err := w.names(ListQuery{}); !cmp.Equal(names, []string{"a/1", "b/1", "b/2"}) {
			t.Errorf("with the key: %v, %v", names, err)
		}
		w.put("a/1", "open", "2")
		w.expect(after, "MODIFIED a/1 l=open rv=5")
		if fills := w.cache.Stats().Fills; fills != 2 {
			t.Errorf("%d fills, want 2", fills)
		}
	})
}

// TestUnreadableEvent checks that a watch ends at an event that cannot be decrypted, whatever its selector, and that the client can begin
// again behind it. Watches of other scopes go on.
func TestUnreadableEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := newLockedWorld(t, func(s *memory.Store) { putThing(s, "a/1", "open") })
		watches := map[string]*Watcher{
			"all":        w.watch(WatchQuery{After: 2}),
			"selector":   w.watch(WatchQuery{After: 2, Selector: parse(t, "l=other", "")}),
			"newest":     w.watch(WatchQuery{After: 2, Latest: true}),
			"name":       w.watch(WatchQuery{After: 2, Name: "1"}),
			"from start": w.watch(WatchQuery{After: 1}),
		}
		others := w.watch(WatchQuery{After: 2, Namespace: "b"})
		own := w.watch(WatchQuery{After: 2, Own: true})
		for _, watcher := range watches {
			if watcher != watches["from start"] {
				w.expect(watcher)
			}
		}
		revision := w.put("a/1", "locked", "")
		for what, watcher := range watches {
			_, _, err := w.drain(watcher)
			if ended, ok := errors.AsType[*UnreadableEventError](err); !ok || ended.Revision != revision || ended.Reason.Key != root+"a/1" {
				t.Errorf("%s: %v, want the end at %d", what, err, revision)
			}
		}
		w.expect(others)
		w.expect(own, "DELETED a/1 l=open rv=3")

		w.put("a/1", "open", "2") // with the new key
		_, _, err := w.drain(w.watch(WatchQuery{After: revision}))
		if _, ok := errors.AsType[*UnreadableEventError](err); !ok {
			t.Errorf("a watch from the revision of the value: %v; the client may have an older state", err)
		}
		w.expect(w.watch(WatchQuery{State: true}), "ADDED a/1 l=open rv=4")
	})
}

// TestUnreadableHistory checks that a watch from an old revision, whose values have a key that was removed after a rotation, ends so that
// its client lists again.
func TestUnreadableHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := newLockedWorld(t, func(s *memory.Store) {
			putThing(s, "a/1", "open")
			putThing(s, "a/1", "locked")
			putThing(s, "a/1", "open")
		})
		w.cache.mu.Lock()
		w.cache.log.reset(w.cache.through) // etcd alone has the events
		w.cache.mu.Unlock()
		_, _, err := w.drain(w.watch(WatchQuery{After: 2}))
		if ended, ok := errors.AsType[*UnreadableEventError](err); !ok || ended.Revision != 3 {
			t.Errorf("%v, want the end at revision 3", err)
		}
		w.expect(w.watch(WatchQuery{State: true}), "ADDED a/1 l=open rv=4")
	})
}
