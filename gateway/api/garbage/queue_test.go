package garbage

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func take(t *testing.T, q *queue[string], want string) {
	t.Helper()
	if got, ok := q.take(); got != want || ok != (want != "") {
		t.Fatalf("the turn is %q's, want %q", got, want)
	}
}

func TestQueueOrder(t *testing.T) {
	q := newQueue[string]()
	for _, key := range []string{"a", "b", "a", "c"} {
		q.add(key)
	}
	take(t, q, "a")
	q.finish("a", again)
	take(t, q, "b")
	q.finish("b", done)
	take(t, q, "c")
	q.finish("c", done)
	take(t, q, "a")
	take(t, q, "") // a key never has two turns at the same time
	q.finish("a", done)
	take(t, q, "")
	if len(q.entries) > 0 {
		t.Errorf("%d keys are left", len(q.entries))
	}
}

func TestQueueAddedDuringTurn(t *testing.T) {
	q := newQueue[string]()
	q.add("a")
	take(t, q, "a")
	q.add("a")
	q.finish("a", done)
	take(t, q, "a")
	q.add("a")
	q.finish("a", later) // no pause, because the key was added again
	take(t, q, "a")
	q.finish("a", done)
	take(t, q, "")
}

func TestQueueDrop(t *testing.T) {
	q := newQueue[string]()
	q.drop("a")
	q.add("a")
	q.drop("a")
	take(t, q, "")
	q.add("a")
	take(t, q, "a")
	q.add("a")
	q.drop("a")
	q.finish("a", again)
	take(t, q, "")
	q.add("a")
	take(t, q, "a")
	q.drop("a")
	q.add("a")
	q.finish("a", done)
	take(t, q, "a")
}

func TestQueuePauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[string]()
		start := time.Now()
		q.add("a")
		for _, pause := range []time.Duration{100, 200, 400, 800} {
			take(t, q, "a")
			q.finish("a", later)
			take(t, q, "")
			if q.due() {
				t.Error("a pausing key is due")
			}
			before := time.Now()
			if !q.wait(t.Context()) || time.Since(before) != pause*time.Millisecond {
				t.Fatalf("waited %v, want %v ms", time.Since(before), int64(pause))
			}
		}
		for range 20 {
			take(t, q, "a")
			q.finish("a", later)
			q.wait(t.Context())
		}
		if total := time.Since(start); total > 21*maxPause {
			t.Errorf("pauses grow without bound: %v", total)
		}
		take(t, q, "a")
		q.finish("a", later)
		q.add("a") // ends its pause, and resets the later ones
		take(t, q, "a")
		q.finish("a", later)
		<-time.After(firstPause)
		take(t, q, "a")
	})
}

func TestQueueWaitEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue[string]()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if q.wait(ctx) {
			t.Error("an empty queue has a key")
		}
	})
}
