package watchcache

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"testing"
	"testing/synctest"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/etcdstore/memory"
)

var errUndecoded = errors.New("not decoded")

// countdown is a cache in which key n has the path a/9999-n, and odd values are undecodable but have a document.
func countdown(t *testing.T, prepare func(*memory.Store)) *world {
	t.Helper()
	w := &world{t: t, store: memory.New()}
	prepare(w.store)
	path := func(rest string) string {
		n, _ := strconv.Atoi(rest)
		return fmt.Sprintf("a/%04d", 9999-n)
	}
	w.cache = New(Config{Store: w.store, Prefix: root, Path: path, Logger: slog.New(slog.DiscardHandler),
		Decode: func(kv etcdstore.KV, _ []byte) (encoding.Object, error) {
			id := encoding.Identity{APIVersion: "v1", Kind: "Thing", Namespace: "a", Name: path(kv.Key[len(root):])[2:]}
			object, err := encoding.Normalize(fmt.Appendf(nil, `{"metadata":{"labels":{"l":%q}}}`, kv.Value), id, int64(kv.Modified))
			if err == nil && len(kv.Value)%2 == 1 {
				err = errUndecoded
			}
			return object, err
		}})
	w.start()
	return w
}

// Paths may have another order than keys: in the pages of a fill, in changes, and in past states.
func TestPathsInAnotherOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var first etcdstore.Revision
		w := countdown(t, func(s *memory.Store) {
			puts := map[string][]byte{}
			for n := range etcdstore.ScanKeys + 10 {
				puts[fmt.Sprintf("%s%04d", root, n)] = []byte("xx")
			}
			first = s.Txn(puts, nil)
		})
		expect := func(what string, q ListQuery, count int) {
			t.Helper()
			last, found := "", 0
			for o := range w.list(q).Objects {
				if found++; o.Path() <= last {
					t.Fatalf("%s: %s after %s", what, o.Path(), last)
				}
				last = o.Path()
			}
			if found != count {
				t.Errorf("%s: %d objects, want %d", what, found, count)
			}
		}
		expect("filled", ListQuery{}, etcdstore.ScanKeys+10)
		w.write("9998", []byte("new"))
		w.remove("0000")
		expect("changed", ListQuery{}, etcdstore.ScanKeys+10)
		expect("of the past", ListQuery{At: first}, etcdstore.ScanKeys+10)
		w.expectList(ListQuery{Namespace: "a", Name: "0001"}, "a/0001=new")
		if difference, err := w.cache.checker.Compare(t.Context()); difference != "" || err != nil {
			t.Errorf("the cache and the store differ: %s, %v", difference, err)
		}
		past := w.watch(WatchQuery{Namespace: "a", Name: "0001", After: first})
		w.expect(past, fmt.Sprintf("ADDED a/0001 l=new rv=%d", first+1))
	})
}

func TestUndecodedValuesAreShownAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := countdown(t, func(s *memory.Store) {
			s.Txn(map[string][]byte{root + "1": []byte("x"), root + "2": []byte("yy")}, nil)
		})
		count := func(want int) {
			t.Helper()
			if stats := w.cache.Stats(); stats.Invalid != want {
				t.Errorf("%d values are undecodable, want %d", stats.Invalid, want)
			}
		}
		watcher := w.watch(WatchQuery{State: true})
		w.expect(watcher, "ADDED a/9997 l=yy rv=2", "ADDED a/9998 l=x rv=2")
		count(1)
		w.write("2", []byte("yyy"))
		w.write("1", []byte("xxx"))
		count(2)
		w.write("1", []byte("xxxx"))
		count(1)
		w.remove("2")
		count(0)
		w.expect(watcher, "MODIFIED a/9997 l=yyy rv=3", "MODIFIED a/9998 l=xxx rv=4", "MODIFIED a/9998 l=xxxx rv=5", "DELETED a/9997 l=yyy rv=6")
	})
}

// After Expire clients must list again, also when the cache has stopped.
func TestExpire(t *testing.T) {
	bubble(t, nil, func(w *world) {
		watcher := w.watch(WatchQuery{After: w.put("a/x", "1", "")})
		w.expect(watcher)
		w.cache.Expire()
		w.stop()
		var reverted *RevertedError
		if _, _, err := w.drain(watcher); !errors.As(err, &reverted) {
			t.Errorf("the watch ended with %v", err)
		}
	})
}
