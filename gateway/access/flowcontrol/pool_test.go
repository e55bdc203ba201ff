package flowcontrol

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// check fails if the figures of a pool contradict each other, or if a request waits that the rule admits.
func check(t interface{ Fatalf(string, ...any) }, p *Pool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var held int64
	queued, turns := 0, 0
	for _, f := range p.flows {
		held, queued = held+f.held, queued+f.queue.Len()
		if (f.turn != nil) != (f.queue.Len() > 0) || f.turn != nil && f.level != p.levelLocked(f, f.next().n) {
			t.Fatalf("flow %s waits with %d requests at level %d", f.user, f.queue.Len(), f.level)
		}
	}
	for l := first; l < levels; l++ {
		turns += p.turns[l].Len()
		if turn := p.turns[l].Front(); turn != nil && p.fitsLocked(l, turn.Value.(*flow).next().n) {
			t.Fatalf("level %d waits, with %d of %d seats in use", l, p.used, p.config.Seats)
		}
	}
	if held != p.used || p.used > p.config.Seats || queued != p.waiting || turns > queued {
		t.Fatalf("%d held, %d used of %d; %d queued, %d waiting, %d turns", held, p.used, p.config.Seats, queued, p.waiting, turns)
	}
}

// TestRule checks with random users that nobody takes more than a quarter while a user with less is refused, and that a user who holds
// none gets a seat as long as there are fewer such users than reserved seats.
func TestRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(8, 40).Draw(t, "seats")
		p := NewPool(Config{Resource: "places", Seats: n})
		held := map[string][]Seats{}
		users := rapid.IntRange(1, int(n/4)).Draw(t, "users") // as many as there are reserved seats
		refused := map[string]bool{}                          // since the last release
		acquire := func(t *rapid.T, user string) bool {
			mine := int64(len(held[user]))
			seats, err := p.Acquire(t.Context(), user, 1)
			switch {
			case err != nil && mine == 0:
				t.Fatalf("%s holds none and gets none: %v", user, err)
			case err != nil:
				refused[user] = true
				return false
			case mine+1 > n/4:
				for other := range refused {
					if int64(len(held[other])) < n/4 {
						t.Fatalf("%s has got seat %d of %d, and %s was refused with %d", user, mine+1, n, other, len(held[other]))
					}
				}
			}
			held[user] = append(held[user], seats)
			return true
		}
		t.Repeat(map[string]func(*rapid.T){
			"acquire": func(t *rapid.T) {
				user, wanted := fmt.Sprint("user-", rapid.IntRange(1, users).Draw(t, "user")), rapid.Int64Range(1, n).Draw(t, "wanted")
				for i := int64(0); i < wanted && acquire(t, user); i++ {
				}
			},
			"release": func(t *rapid.T) {
				user := fmt.Sprint("user-", rapid.IntRange(1, users).Draw(t, "user"))
				if some := held[user]; len(some) > 0 {
					some[0].Release()
					held[user] = some[1:]
					clear(refused)
				}
			},
			"": func(t *rapid.T) { check(t, p) },
		})
	})
}

// TestQueue checks with random requests of random sizes, some of which give up, that no request waits that the rule admits, and that all
// are dispatched or rejected in the end.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [3]int {
			return [3]int{rapid.IntRange(0, 5).Draw(t, "user"), rapid.IntRange(1, 6).Draw(t, "seats"), rapid.IntRange(0, 2).Draw(t, "what")}
		}), 1, 60).Draw(rt, "steps")
		synctest.Test(t, func(t *testing.T) {
			p := NewPool(Config{Resource: "places", Seats: 16, MaxWait: time.Minute})
			got, hold, ended := make(chan Seats, len(steps)), make([]Seats, 0, len(steps)), 0
			for _, step := range steps {
				if step[2] == 0 && len(hold) > 0 {
					hold[0].Release()
					hold = hold[1:]
				}
				go func() {
					ctx := t.Context()
					if step[2] == 1 {
						bounded, cancel := context.WithTimeout(ctx, time.Second)
						defer cancel()
						ctx = bounded
					}
					seats, _ := p.Acquire(ctx, fmt.Sprint(step[0]), int64(step[1]))
					got <- seats
				}()
				synctest.Wait()
				check(t, p)
				for len(got) > 0 {
					hold, ended = append(hold, <-got), ended+1
				}
			}
			for ended < len(steps) {
				hold, ended = append(hold, <-got), ended+1 // after the time of one, or because another was released
				hold[0].Release()
				hold = hold[1:]
				synctest.Wait()
				check(t, p)
			}
			for i := range hold {
				hold[i].Release()
			}
			if check(t, p); p.used != 0 || p.waiting != 0 {
				t.Errorf("%d seats in use, %d wait", p.used, p.waiting)
			}
		})
	})
}

// TestTurns checks that flows that wait have turns, however many requests one of them has, and that a flow without seats is first.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(Config{Resource: "requests", Seats: 8, MaxWait: time.Minute})
		got := make(chan string, 601)
		seats := make(chan Seats, 601)
		ask := func(user string, times int) {
			for range times {
				go func() {
					s, err := p.Acquire(t.Context(), user, 1)
					if err != nil {
						return
					}
					got <- user
					seats <- s
				}()
			}
			synctest.Wait()
		}
		ask("greedy", 500) // half
		ask("modest", 100) // a quarter
		ask("new", 1)
		if len(got) != 4+2+1 {
			t.Fatalf("%d requests are dispatched at once, want 4 and 2 and 1", len(got))
		}
		for len(got) > 0 {
			<-got
		}
		counts := map[string]int{}
		for range 100 {
			s := <-seats
			s.Release()
			synctest.Wait()
			for len(got) > 0 {
				counts[<-got]++
			}
		}
		if counts["modest"] < 40 || counts["greedy"] < 40 {
			t.Errorf("of the next 100 requests %v", counts)
		}
		ask("newest", 1)
		if len(got) != 1 {
			t.Error("a flow without seats waits")
		}
	})
}

// TestRejections checks the reasons, and that Retry-After follows from how many requests end.
func TestRejections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(Config{Resource: "requests", Seats: 8, PerFlow: 5, MaxWait: 10 * time.Second})
		rejected := func(user string, n int64) *RejectedError {
			_, err := p.Acquire(t.Context(), user, n)
			var e *RejectedError
			if !errors.As(err, &e) {
				t.Fatalf("%s gets %d seats: %v", user, n, err)
			}
			return e
		}
		if e := rejected("large", 6); e.Reason != RejectedLimit || e.RetryAfter != defaultRetryAfter {
			t.Errorf("above the limit of a flow: %+v", e)
		}
		var held []Seats
		for range 4 {
			s, err := p.Acquire(t.Context(), "greedy", 1)
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, s)
		}
		began := time.Now()
		if e := rejected("greedy", 1); e.Reason != RejectedTimeout || time.Since(began) != 10*time.Second {
			t.Errorf("after %v: %+v", time.Since(began), e)
		}
		if err := held[0].Grow(1); err != nil { // the first seats of a flow
			t.Error(err)
		}
		if err := held[1].Grow(1); !errors.As(err, new(*RejectedError)) {
			t.Errorf("beyond the limit: %v", err)
		}
		for range 20 { // two a second end
			<-time.After(500 * time.Millisecond)
			s, err := p.Acquire(t.Context(), "modest", 1)
			if err != nil {
				t.Fatal(err)
			}
			s.Release()
		}
		for range 9 {
			go func() { _, _ = p.Acquire(t.Context(), "modest", 4) }()
		}
		synctest.Wait()
		if e := rejected("greedy", 9); e.RetryAfter < time.Second || e.RetryAfter > 3*time.Second {
			t.Errorf("two requests a second end: %+v", e)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, err := p.Acquire(gone, "modest", 1); !errors.Is(err, context.Canceled) {
			t.Errorf("a client that has gone: %v", err)
		}
		for i := range held {
			held[i].Release()
			held[i].Release()
		}
		<-time.After(time.Minute)
		if check(t, p); p.waiting != 0 {
			t.Errorf("%d still wait", p.waiting)
		}
	})
}

// TestFlowsAreForgotten checks that a pool does not remember every user that it has seen.
func TestFlowsAreForgotten(t *testing.T) {
	p := NewPool(Config{Resource: "requests", Seats: 4})
	keep, err := p.Acquire(t.Context(), "first", 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 * minSweep {
		s, err := p.Acquire(t.Context(), fmt.Sprint("user ", i), 1)
		if err != nil {
			t.Fatal(err)
		}
		if i%2 == 0 {
			_ = s.Grow(4) // is held back
		}
		s.Release()
	}
	if n := len(p.flows); n > 2*minSweep || p.flows["first"] == nil {
		t.Errorf("%d flows are remembered", n)
	}
	keep.Move("second")
	keep.Set(3)
	if f := p.flows["second"]; f.held != 3 || p.flows["first"].held != 0 || p.used != 3 {
		t.Errorf("the second user holds %d of %d", f.held, p.used)
	}
	keep.Release()
	check(t, p)
}

// BenchmarkAcquire is the cost of a request that does not wait.
func BenchmarkAcquire(b *testing.B) {
	p := NewPool(Config{Resource: "requests", Seats: 400, MaxWait: maxWait})
	b.ReportAllocs()
	for b.Loop() {
		s, err := p.Acquire(b.Context(), "user", 1)
		if err != nil {
			b.Fatal(err)
		}
		s.Release()
	}
}
