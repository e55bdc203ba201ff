package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestLoopCallsAgain checks when Sync is called without a change: after an error, after the time that it returned, and after a minute.
func TestLoopCallsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		began := time.Now()
		var calls []time.Duration
		loop := Loop{Logger: slog.New(slog.DiscardHandler), What: "objects", Sync: func(context.Context) (time.Duration, error) {
			calls = append(calls, time.Since(began))
			switch len(calls) {
			case 1:
				return 0, errors.New("etcd does not answer")
			case 2:
				return 10 * time.Second, nil
			case 3:
				return time.Hour, nil
			case 4:
				return 0, nil
			}
			stop()
			return 0, nil
		}}
		loop.Run(ctx)
		want := []time.Duration{0, retry, retry + 10*time.Second, retry + 10*time.Second + period, retry + 10*time.Second + 2*period}
		if !slices.Equal(calls, want) {
			t.Errorf("Sync was called at %v, want %v", calls, want)
		}
	})
}

// TestLoopRests checks that Sync is not called again at once after a long call, although its own writes are changes.
func TestLoopRests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		began := time.Now()
		var calls []time.Duration
		loop := Loop{Logger: slog.New(slog.DiscardHandler), What: "objects", Sync: func(ctx context.Context) (time.Duration, error) {
			calls = append(calls, time.Since(began))
			if len(calls) == 2 {
				stop()
			}
			pause(ctx, time.Minute)
			return time.Nanosecond, nil
		}}
		loop.Run(ctx)
		if want := []time.Duration{0, time.Minute + longestRest + time.Nanosecond}; !slices.Equal(calls, want) {
			t.Errorf("Sync was called at %v, want %v", calls, want)
		}
	})
}
