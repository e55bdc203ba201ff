package watchcache

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"weak"

	"revtail/etcdstore/memory"
	"revtail/gateway/watchcache/snapshots"
)

// rewrite writes objects of 1 KiB: more than one step of initial events delivers.
func (w *world) rewrite(round int) {
	w.t.Helper()
	puts := make(map[string][]byte)
	for i := range initialEvents + 100 {
		path := fmt.Sprintf("a/%04d", i)
		puts[root+path] = thing(path, fmt.Sprint(round), strings.Repeat("x", 1<<10))
	}
	w.store.Txn(puts, nil)
	synctest.Wait()
}

// A state that a client reads slowly is dropped when all of them would take too much memory, the oldest first. Its reader gets an error instead of the rest.
func TestSlowReadersAreBounded(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.cache.held.MaxBytes = 0 // so they may take twice the size of the newest state
		var watchers []*Watcher
		var lists []*List
		for round := range 5 {
			w.rewrite(round)
			watcher := w.watch(WatchQuery{State: true})
			if batch, err := watcher.Next(w.t.Context()); err != nil || len(batch.Changes) != initialEvents {
				t.Fatalf("the first initial events are %d: %v", len(batch.Changes), err)
			}
			list, err := w.cache.List(w.t.Context(), ListQuery{})
			if err != nil {
				t.Fatal(err)
			}
			list.Hold()
			watchers, lists = append(watchers, watcher), append(lists, list)
		}
		for i, watcher := range watchers {
			batch, err := watcher.Next(w.t.Context())
			_, ended := errors.AsType[*SlowReaderError](err)
			if want := i < 2; ended != want || !want && !batch.Synced {
				t.Errorf("reader %d gets %d changes: %v", i, len(batch.Changes), err)
			}
			watcher.Close()
			if _, ended := errors.AsType[*SlowReaderError](lists[i].Err()); ended != (i < 2) {
				t.Errorf("list %d: %v", i, lists[i].Err())
			}
			lists[i].Release()
		}
		if s := w.cache.Stats(); s.Snapshots != 0 || s.Dropped != 2 {
			t.Errorf("%d states are held, and %d were dropped, want 0 and 2", s.Snapshots, s.Dropped)
		}
	})
}

// TestDroppedStateIsFreed checks that the watch whose state was dropped does not keep it in memory while its client reads no further.
func TestDroppedStateIsFreed(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.cache.held.MaxBytes = 0
		w.rewrite(0)
		state := weak.Make(w.cache.current.objects)
		watcher := w.watch(WatchQuery{State: true})
		watcher.Begin(w.t.Context())
		for round := range 3 {
			w.rewrite(round + 1)
			w.watch(WatchQuery{State: true}).Begin(w.t.Context())
		}
		runtime.GC()
		if w.cache.Stats().Dropped == 0 || state.Value() != nil {
			t.Errorf("the state is in memory: %v, after %d were dropped", state.Value() != nil, w.cache.Stats().Dropped)
		}
		if _, err := watcher.Next(w.t.Context()); err == nil {
			t.Error("its watch goes on")
		}
	})
}

// Readers of equal states share one, and a state that does not change meanwhile costs nothing, however many clients read it.
func TestReadersOfEqualStatesShareOne(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.cache.held.MaxBytes = 0
		w.rewrite(0)
		var watchers []*Watcher
		for range 5 {
			watcher := w.watch(WatchQuery{State: true})
			watcher.Begin(w.t.Context())
			watchers = append(watchers, watcher)
			other := w.store.Txn(map[string][]byte{"/registry/others/a/x": thing("a/x", "", "")}, nil)
			w.page(ListQuery{AtLeast: other}) // the cache goes on to its revision
		}
		if s := w.cache.Stats(); s.Snapshots != 1 {
			t.Errorf("%d states are held, want 1", s.Snapshots)
		}
		for _, watcher := range watchers {
			w.expectCount(watcher, initialEvents+100)
		}
	})
}

// A state that is kept for two pages, between which the cache went on without a change, serves the next page of both from memory.
func TestPagesOfAnUnchangedState(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.rewrite(0)
		first := w.page(ListQuery{Limit: 1})
		other := w.store.Txn(map[string][]byte{"/registry/others/a/x": thing("a/x", "", "")}, nil)
		second := w.page(ListQuery{AtLeast: other, Limit: 1})
		w.rewrite(1)
		for _, page := range []*List{first, second} {
			w.page(ListQuery{At: page.Revision, After: page.Continue, Limit: 1})
		}
		if s := w.cache.Stats(); first.Revision == second.Revision || s.Snapshots != 1 || s.SnapshotLoads != 0 {
			t.Errorf("%d states are kept for %d and %d, and %d were read from etcd, want 1 and 0", s.Snapshots, first.Revision, second.Revision, s.SnapshotLoads)
		}
	})
}

// TestKeptStatesAreDroppedFirst checks that a state that only waits for a next page is dropped before one that a client reads, though it is newer.
func TestKeptStatesAreDroppedFirst(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.cache.held.MaxBytes = 0
		w.rewrite(0)
		watcher := w.watch(WatchQuery{State: true})
		watcher.Begin(w.t.Context())
		w.rewrite(1)
		page := w.page(ListQuery{Limit: 1})
		for round := range 3 {
			w.rewrite(2 + round)
			w.page(ListQuery{Limit: 1})
		}
		w.expectCount(watcher, initialEvents+100)
		w.page(ListQuery{At: page.Revision, After: page.Continue, Limit: 1})
		if s := w.cache.Stats(); s.Dropped != 0 || s.SnapshotLoads == 0 {
			t.Errorf("%d states were dropped, and %d were read from etcd", s.Dropped, s.SnapshotLoads)
		}
	})
}

func (w *world) page(q ListQuery) *List {
	w.t.Helper()
	list, err := w.cache.List(w.t.Context(), q)
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

func (w *world) expectCount(watcher *Watcher, want int) {
	w.t.Helper()
	for count := 0; ; {
		batch, err := watcher.Next(w.t.Context())
		if count += len(batch.Changes); err != nil || batch.Synced {
			if err != nil || count != want {
				w.t.Errorf("%d initial events, want %d: %v", count, want, err)
			}
			return
		}
	}
}

// What changes release is at least the memory that a state of before keeps alone, and about as much unless the same blocks are written again and again.
func TestReleasedMemory(t *testing.T) {
	for name, change := range map[string]func(s *objects, i int, random *rand.Rand){
		"updates of neighbours": func(s *objects, i int, _ *rand.Rand) { s.set(document(fmt.Sprintf("a/%04d", i%40), i, 1<<10)) },
		"updates": func(s *objects, _ int, random *rand.Rand) {
			s.set(document(fmt.Sprintf("a/%04d", random.IntN(2000)), 1, 1<<10))
		},
		"deletes of neighbours": func(s *objects, i int, _ *rand.Rand) { s.remove(fmt.Sprintf("a/%04d", i)) },
		"creates": func(s *objects, i int, random *rand.Rand) {
			s.set(document(fmt.Sprintf("a/%04d-%d", random.IntN(2000), i), 1, 1<<10))
		},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			s := newObjects()
			for i := range 2000 {
				s.set(document(fmt.Sprintf("a/%04d", i), 0, 1<<10))
			}
			for _, changes := range []int{20, 200, 1000} {
				before := s.copy()
				for i := range changes {
					change(s, i, random)
				}
				kept, estimate := memoryBeside(before, s), min(before.size, s.released-before.released)
				spread := !strings.HasSuffix(name, "neighbours")
				if estimate < kept*9/10 || spread && estimate > 2*kept+changes*2*changeSize {
					t.Errorf("after %d changes %d bytes are estimated, and the state of before keeps %d", changes, estimate, kept)
				}
			}
		})
	}
}

// A fill makes another state, also of an empty one: what is read of the state before must not become the new one.
func TestFillIsAnotherState(t *testing.T) {
	store := memory.New()
	r := &reflector{cache: New(Config{Store: store, Prefix: root, Decode: decodeThing, Logger: slog.New(slog.DiscardHandler)}), mirror: newMirror()}
	read := func() *snapshots.Held[snapshot] {
		t.Helper()
		if err := r.fill(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := r.mirror.snapshot(r.since, r.through)
		return r.cache.held.Hold(&s, s.cost(), s.cost())
	}
	empty := read()
	store.Txn(map[string][]byte{root + "a/x": thing("a/x", "", "")}, nil)
	if filled := read(); filled == empty || empty.Snapshot().size() != 0 || filled.Snapshot().size() != 1 {
		t.Errorf("the reader of the empty state has %d objects, that of the filled one %d", empty.Snapshot().size(), filled.Snapshot().size())
	}
}

// memoryBeside is how many bytes of documents and pointers a state keeps that another one does not have.
func memoryBeside(state, other *objects) (bytes int) {
	shared := make(map[*byte]bool)
	blocks := make(map[*block]bool)
	other.blocks.Scan(func(b *block) bool {
		blocks[b] = true
		for _, piece := range b.memory() {
			shared[&piece[0]] = true
		}
		return true
	})
	state.blocks.Scan(func(b *block) bool {
		if !blocks[b] {
			bytes += 2*len(b.order) + 8*len(b.loose)
		}
		for _, piece := range b.memory() {
			if !shared[&piece[0]] {
				bytes += len(piece)
			}
		}
		return true
	})
	return bytes
}

// memory is the text of a block, and the documents outside of it.
func (b *block) memory() (pieces [][]byte) {
	if b.packed != nil {
		pieces = append(pieces, b.packed.text)
	}
	for _, o := range b.loose {
		pieces = append(pieces, o.JSON)
	}
	return pieces
}
