package watchcache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/etcdstore/memory"
)

// scannedStore is a store with scans of small pages. Between two pages it calls between, with the number of pages so far.
type scannedStore struct {
	*memory.Store
	limit   int
	between func(pages int) error
}

func (s *scannedStore) Scan(ctx context.Context, prefix string, at etcdstore.Revision) iter.Seq2[etcdstore.Page, error] {
	return func(yield func(etcdstore.Page, error) bool) {
		o := etcdstore.ListOptions{Limit: s.limit, At: at}
		for pages := 1; ; pages++ {
			page, err := s.List(ctx, prefix, o)
			if !yield(page, err) || err != nil || page.Remaining == 0 {
				return
			}
			o.At, o.After = page.Revision, page.KVs[len(page.KVs)-1].Key
			if err := s.between(pages); err != nil {
				yield(etcdstore.Page{}, err)
				return
			}
		}
	}
}

// start starts a cache of the store that logs to a buffer.
func (s *scannedStore) start(t *testing.T) (*world, *bytes.Buffer) {
	t.Helper()
	out := new(bytes.Buffer)
	w := &world{t: t, store: s.Store}
	w.cache = New(Config{Store: s, Prefix: root, Decode: decodeThing, Logger: slog.New(slog.NewTextHandler(out, nil))})
	w.start()
	return w, out
}

// expectStored compares the cache with the store.
func (w *world) expectStored() {
	w.t.Helper()
	page, err := w.store.List(w.t.Context(), root, etcdstore.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	s, ready := w.cache.currentSnapshot()
	if !ready || s.revision != page.Revision || s.objects.count != len(page.KVs) {
		w.t.Fatalf("the cache has %d objects of revision %d (ready: %t), the store %d of %d", s.objects.count, s.revision, ready, len(page.KVs), page.Revision)
	}
	for _, kv := range page.KVs {
		want := w.cache.Decode(kv)
		if got := s.objects.get(want.path); got == nil || !bytes.Equal(got.JSON, want.JSON) || got.Revision != want.Revision {
			w.t.Errorf("%s is %v, want %s", want.path, got, want.JSON)
		}
	}
}

func manyThings(n int) *memory.Store {
	s, puts := memory.New(), map[string][]byte{}
	for i := range n {
		path := fmt.Sprintf("a/%03d", i)
		puts[root+path] = thing(path, "1", strings.Repeat("v", i))
	}
	s.Txn(puts, nil)
	return s
}

// A fill is the state of one revision, with the changes after it: whatever is written between its pages, and after compactions of its revision.
func TestFillWhileTheStoreChanges(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		objects, limit, compactions := rapid.IntRange(0, 60).Draw(r, "objects"), rapid.IntRange(1, 20).Draw(r, "limit"), rapid.IntRange(0, 2).Draw(r, "compactions")
		changes := rapid.SliceOfN(rapid.IntRange(0, 99), 10, 10).Draw(r, "changes")
		synctest.Test(t, func(t *testing.T) {
			s := &scannedStore{Store: manyThings(objects), limit: limit}
			s.between = func(pages int) error {
				n := changes[pages%len(changes)]
				path := fmt.Sprintf("a/%03d", n)
				if n%3 == 0 {
					s.Txn(nil, []string{root + path})
				}
				newest := s.Txn(map[string][]byte{root + path + "x": thing(path+"x", "2", "")}, nil)
				if compactions > 0 {
					compactions--
					return s.Compact(newest)
				}
				return nil
			}
			w, _ := s.start(t)
			<-w.cache.Filled()
			synctest.Wait()
			w.put("b/last", "3", "")
			w.expectStored()
			w.stop()
		})
	})
}

// A fill that fails in the middle begins again, and one that is cancelled leaves no goroutine.
func TestFillFails(t *testing.T) {
	for _, failure := range []error{etcdstore.ErrUnavailable, &etcdstore.CompactedError{Requested: 2}, errors.New("unexpected")} {
		synctest.Test(t, func(t *testing.T) {
			failures := 2
			s := &scannedStore{Store: manyThings(30), limit: 10, between: func(pages int) error {
				if pages == 2 && failures > 0 {
					failures--
					return failure
				}
				return nil
			}}
			w, _ := s.start(t)
			<-w.cache.Filled()
			synctest.Wait()
			w.expectStored()
			if losses := w.cache.Stats().WatchLosses; losses != 2 {
				t.Errorf("%d failures are counted, want 2", losses)
			}
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan struct{})
			s := &scannedStore{Store: manyThings(30), limit: 10, between: func(int) error {
				<-ended
				return nil
			}}
			w, _ := s.start(t)
			go w.stop()
			synctest.Wait()
			close(ended) // the store returns only now
			synctest.Wait()
			if s, ready := w.cache.currentSnapshot(); ready || s.objects != nil {
				t.Error("a part of the state is served")
			}
		})
	})
}

// A long fill reports its progress, a short one logs nothing.
func TestFillProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pause := time.Duration(0)
		s := &scannedStore{Store: manyThings(40), limit: 10, between: func(int) error {
			<-time.After(pause)
			return nil
		}}
		w, out := s.start(t)
		<-w.cache.Filled()
		if out.Len() > 0 || w.cache.Stats().Filling != (Progress{}) {
			t.Errorf("after a short fill: %+v, %s", w.cache.Stats().Filling, out)
		}
		w.stop()
		pause = progressPeriod
		w, out = s.start(t)
		if now := w.cache.Stats().Filling; now.Read != 10 || now.Of != 40 || !now.Began.Equal(time.Now()) {
			t.Errorf("at the start: %+v", now)
		}
		<-time.After(pause + time.Second)
		if now := w.cache.Stats().Filling; now.Read != 20 || now.Of != 40 || time.Since(now.Began) != pause+time.Second {
			t.Errorf("after a page more: %+v", now)
		}
		<-w.cache.Filled()
		synctest.Wait()
		for _, want := range []string{"objects=20 of=40 seconds=5", "objects=30 of=40 seconds=10", "objects=40 of=40 seconds=15"} {
			if !strings.Contains(out.String(), `msg="cache filling" prefix=`+root+" "+want) {
				t.Errorf("the log has no %q:\n%s", want, out)
			}
		}
	})
}

// A builder makes the state that objects with memory of their own make, in any division into pages; its buffer is not part of it.
func TestBuilder(t *testing.T) {
	c := New(Config{Store: memory.New(), Prefix: root, Logger: slog.New(slog.DiscardHandler), Decode: func(kv etcdstore.KV, buffer []byte) (encoding.Object, error) {
		switch {
		case bytes.HasPrefix(kv.Value, []byte("broken")):
			return encoding.Object{}, errUndecoded
		case bytes.HasPrefix(kv.Value, []byte("own")):
			return encoding.Object{JSON: bytes.Clone(kv.Value)}, nil
		}
		return encoding.Object{JSON: append(buffer, kv.Value...)}, nil
	}})
	sizes := []int{5, 100, 1000, 20_000, blockSize - 1, blockSize, 3 * blockSize}
	rapid.Check(t, func(r *rapid.T) {
		var kvs []etcdstore.KV
		want, b, keys := newMirror(), newBuilder(c), new(strings.Builder)
		keys.Grow(3 * blockObjects * len(root+"a/0000")) // as rangestream does
		for i, kind := range rapid.SliceOfN(rapid.SampledFrom([]string{"", "", "", "own", "broken"}), 0, 3*blockObjects).Draw(r, "kinds") {
			at := keys.Len()
			fmt.Fprintf(keys, "%sa/%04d", root, i)
			kvs = append(kvs, etcdstore.KV{Key: keys.String()[at:], Modified: etcdstore.Revision(i + 1),
				Value: fmt.Appendf(nil, "%s%d%s", kind, i, strings.Repeat("v", rapid.SampledFrom(sizes).Draw(r, "size")))})
		}
		want.fill(c.decodeAll(kvs))
		for rest := kvs; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(r, "page")
			b.add(rest[:n])
			rest = rest[n:]
		}
		b.flush()
		for i := range b.buffer[:cap(b.buffer)] {
			b.buffer[:cap(b.buffer)][i] = 'x'
		}
		if got := b.mirror; got.objects.count != want.objects.count || got.objects.size != want.objects.size || got.invalid.count != want.invalid.count {
			r.Fatalf("%d objects of %d bytes and %d invalid ones, want %d of %d and %d", got.objects.count, got.objects.size, got.invalid.count,
				want.objects.count, want.objects.size, want.invalid.count)
		}
		for _, kv := range kvs {
			path := c.path(kv.Key)
			if got, o := b.mirror.get(path), want.get(path); got == nil || got.path != o.path || got.Revision != o.Revision || !bytes.Equal(got.JSON, o.JSON) {
				r.Fatalf("%s is not the object that was stored", path)
			}
		}
		checkBlocks(r, b.mirror.objects)
		from := uintptr(unsafe.Pointer(unsafe.StringData(keys.String())))
		b.mirror.objects.blocks.Scan(func(b *block) bool {
			if at := uintptr(unsafe.Pointer(unsafe.StringData(b.low))); b.low != "" && at >= from && at < from+uintptr(keys.Len()) {
				r.Errorf("the bound %q of a block keeps the keys of a page in memory", b.low)
			}
			return true
		})
	})
}
