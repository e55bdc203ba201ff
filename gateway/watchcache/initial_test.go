package watchcache

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
)

func TestWatchStateFirst(t *testing.T) {
	bubble(t, nil, func(w *world) {
		w.put("b/y", "1", "")
		w.put("a/x", "2", "")
		watcher := w.watch(WatchQuery{State: true})
		w.expect(watcher, "ADDED a/x l=2 rv=3", "ADDED b/y l=1 rv=2")
		w.put("a/z", "3", "")
		w.remove("b/y")
		w.expect(watcher, "ADDED a/z l=3 rv=4", "DELETED b/y l=1 rv=5")
	})
}

func TestWatchSyncedComesOnceAndAfterTheState(t *testing.T) {
	bubble(t, nil, func(w *world) {
		for i := range 2*initialEvents + 1 {
			w.store.Txn(map[string][]byte{fmt.Sprintf("%sa/%04d", root, i): thing(fmt.Sprintf("a/%04d", i), "", "")}, nil)
		}
		synctest.Wait()
		watcher := w.watch(WatchQuery{State: true})
		steps, objects := 0, 0
		for synced := false; !synced; steps++ {
			batch, err := watcher.Next(w.t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if objects += len(batch.Changes); (batch.Through != 0) != batch.Synced {
				t.Errorf("step %d: Through is %d, Synced is %v", steps, batch.Through, batch.Synced)
			}
			synced = batch.Synced
		}
		if objects != 2*initialEvents+1 || steps != 3 {
			t.Errorf("%d objects in %d steps", objects, steps)
		}
		w.put("a/x", "", "")
		if batch, err := watcher.Next(w.t.Context()); err != nil || batch.Synced {
			t.Errorf("Synced is set again (%v, %v)", batch, err)
		}
	})
}

// One step delivers a few large objects, because a client that reads slowly keeps them in memory.
func TestInitialEventsOfLargeObjects(t *testing.T) {
	bubble(t, nil, func(w *world) {
		for i := range 5 {
			w.put(fmt.Sprintf("a/%d", i), "", strings.Repeat("x", initialBytes/2))
		}
		watcher := w.watch(WatchQuery{State: true})
		for _, want := range []int{2, 2, 1} {
			if batch, err := watcher.Next(w.t.Context()); err != nil || len(batch.Changes) != want || batch.Synced != (want == 1) {
				t.Errorf("a step has %d objects, and is the last one: %v (%v), want %d", len(batch.Changes), batch.Synced, err, want)
			}
		}
	})
}

// The initial events of an internal watch are batches in the same memory. A client gets batches of its own, because it may hold one for long.
func TestWatchOfTheGatewayItselfUsesItsMemoryAgain(t *testing.T) {
	bubble(t, nil, func(w *world) {
		puts := make(map[string][]byte)
		for i := range 2*initialEvents + 1 {
			puts[fmt.Sprintf("%sa/%04d", root, i)] = thing(fmt.Sprintf("a/%04d", i), "", "")
		}
		w.store.Txn(puts, nil)
		synctest.Wait()
		for _, own := range []bool{true, false} {
			watcher := w.watch(WatchQuery{State: true, Own: own})
			var first *Change
			for i := range 2*initialEvents + 1 {
				if i%initialEvents > 0 {
					continue
				}
				batch, err := watcher.Next(w.t.Context())
				if err != nil || len(batch.Changes) != min(initialEvents, 2*initialEvents+1-i) || batch.Changes[0].Object.Name() != fmt.Sprintf("%04d", i) {
					t.Fatalf("event %d: a batch of %d, error %v", i, len(batch.Changes), err)
				}
				if i > 0 && (&batch.Changes[0] == first) != own {
					t.Errorf("event %d, internal: %t: the batch is in the memory of the first one: %t", i, own, !own)
				}
				if i == 0 {
					first = &batch.Changes[0]
				}
			}
		}
	})
}

func TestWatchWaitsForItsState(t *testing.T) {
	bubble(t, nil, func(w *world) {
		newest := w.put("a/x", "", "")
		_, err := w.watch(WatchQuery{State: true, AtLeast: newest + 100}).Next(w.t.Context())
		var late *TooLargeError
		if !errors.As(err, &late) || late.Requested != newest+100 {
			t.Errorf("initial events of a future revision get %v", err)
		}
	})
}
