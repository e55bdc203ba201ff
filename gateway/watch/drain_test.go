package watch

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"revtail/gateway/http/status"
)

// openForTest opens n watches that end as soon as their context ends. The channel gets the time of each end. The cause must be ErrDraining.
func (s *registry) openForTest(t *testing.T, n int) <-chan time.Time {
	t.Helper()
	ended := make(chan time.Time, n)
	for range n {
		o, ctx, err := s.Add(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		if err != nil {
			t.Fatalf("a watch is refused: %v", err)
		}
		go func() {
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), status.ErrDraining) {
				t.Errorf("a watch ended because of %v", context.Cause(ctx))
			}
			ended <- time.Now()
			o.Done()
		}()
	}
	return ended
}

// TestDrainIsPaced checks that Drain spreads the ends over time, keeps the deadline, and ends few watches without delay.
func TestDrainIsPaced(t *testing.T) {
	for name, test := range map[string]struct {
		watches     int
		least, most time.Duration
	}{
		"few":       {10, 0, 0},
		"some":      {1000, 4 * time.Second, 6 * time.Second},
		"very many": {20_000, 8 * time.Second, 13 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s registry
				ended := s.openForTest(t, test.watches)
				began := time.Now()
				grace, cancel := context.WithTimeout(t.Context(), 15*time.Second)
				defer cancel()
				if err := s.Drain(grace); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took < test.least || took > test.most {
					t.Errorf("%d watches were drained in %v, want %v to %v", test.watches, took, test.least, test.most)
				}
				within := make(map[int]int) // number of ends by second
				for range test.watches {
					within[int((<-ended).Sub(began)/time.Second)]++
				}
				for second, n := range within {
					if n > max(drainRate, test.watches/5) {
						t.Errorf("%d of %d watches ended in second %d", n, test.watches, second)
					}
				}
				if _, _, err := s.Add(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)); err == nil {
					t.Error("a watch was opened afterwards")
				}
			})
		})
	}
}

// TestDrainWithoutTime checks that Drain ends all watches even if ctx leaves no time to spread the ends.
func TestDrainWithoutTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s registry
		ended := s.openForTest(t, 500)
		grace, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := s.Drain(grace); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(ended) != 500 {
			t.Errorf("%d of 500 watches have ended", len(ended))
		}
	})
}
