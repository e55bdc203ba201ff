package reconcile

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"revtail/gateway/watchcache"
)

const (
	// period is the time between two calls without a change.
	period = time.Minute
	// retry is the pause after an error, and before a watch that failed.
	retry = 5 * time.Second
	// share is the pause after a call, as a multiple of its duration: no more than a tenth of a processor, as long as that pause is below longestRest.
	share       = 10
	longestRest = time.Second
)

// Loop calls Sync when the objects in Caches have been read or have changed, after a while without a change, and again after an error. Changes that
// follow each other closely are one call.
type Loop struct {
	Caches []*watchcache.Cache
	Sync   func(context.Context) (again time.Duration, err error) // again is the time after which it wants to be called; zero: it does not matter
	Logger *slog.Logger
	What   string // the objects, for the log
}

// Run runs the loop until ctx ends.
func (l *Loop) Run(ctx context.Context) {
	changed := make(chan struct{}, 1)
	var running sync.WaitGroup
	defer running.Wait()
	for _, cache := range l.Caches {
		running.Go(func() { notify(ctx, cache, changed) })
	}
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-changed:
		case <-next.C:
		case <-ctx.Done():
			return
		}
		began := time.Now()
		again := l.sync(ctx)
		pause(ctx, min(share*time.Since(began), longestRest))
		next.Reset(again)
	}
}

// sync calls Sync, and returns the time after which it is called again.
func (l *Loop) sync(ctx context.Context) time.Duration {
	again, err := l.Sync(ctx)
	switch {
	case err != nil:
		if ctx.Err() == nil {
			l.Logger.Debug("objects of the gateway are not what they should be, trying again", "objects", l.What, "error", err)
		}
		return retry
	case again == 0:
		return period
	}
	return min(again, period)
}

// notify sends to changed when objects in a cache have been read or have changed, until ctx ends.
func notify(ctx context.Context, cache *watchcache.Cache, changed chan<- struct{}) {
	for ctx.Err() == nil {
		follow(ctx, cache, changed)
		pause(ctx, retry)
	}
}

// follow is notify until the watch fails.
func follow(ctx context.Context, cache *watchcache.Cache, changed chan<- struct{}) {
	watcher, err := cache.Watch(watchcache.WatchQuery{State: true, Own: true})
	if err != nil {
		return
	}
	defer watcher.Close()
	for {
		batch, err := watcher.Next(ctx)
		if err != nil {
			return
		}
		if len(batch.Changes) == 0 {
			continue
		}
		select {
		case changed <- struct{}{}:
		default: // what has not been looked at yet includes this change
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
