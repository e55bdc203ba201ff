package history

import (
	"context"
	"errors"
	"time"

	"revtail/etcdstore"
)

// ProgressPeriod is the least time between two progress requests for one watch of etcd (kube-apiserver: 100 ms as well).
const ProgressPeriod = 100 * time.Millisecond

// recentTimeout is how long Recent waits for the next events.
const recentTimeout = time.Second

// ErrSilent says that a watch of etcd delivered nothing in time.
var ErrSilent = errors.New("the watch went silent")

// NextWithin waits for the next batch of a watch; ErrSilent when it does not come within the timeout.
func NextWithin(ctx context.Context, watcher etcdstore.Watcher, timeout time.Duration) (etcdstore.Batch, error) {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	batch, err := watcher.Next(bounded)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return batch, ErrSilent
	}
	return batch, err
}

// Recent calls add for each event of a prefix in (after, through], with its previous value. ErrSilent says that etcd did not deliver
// the events in time.
func Recent(ctx context.Context, store etcdstore.Store, prefix string, after, through etcdstore.Revision, add func(etcdstore.Event)) error {
	watcher := store.Watch(ctx, prefix, etcdstore.WatchOptions{After: after, Previous: true})
	defer func() { _ = watcher.Close() }() // Next has returned its error
	for {
		batch, err := nextRecent(ctx, watcher)
		if err != nil {
			return err
		}
		for _, e := range batch.Events {
			if e.Revision > through {
				return nil
			}
			add(e)
		}
		if batch.Through >= through {
			return nil
		}
	}
}

// nextRecent waits for a batch up to recentTimeout. It requests progress more than once, because etcd answers no request before the
// watch has caught up.
func nextRecent(ctx context.Context, watcher etcdstore.Watcher) (batch etcdstore.Batch, err error) {
	for range recentTimeout / ProgressPeriod {
		if err = watcher.RequestProgress(ctx); err != nil {
			return batch, err
		}
		if batch, err = NextWithin(ctx, watcher, ProgressPeriod); !errors.Is(err, ErrSilent) {
			break
		}
	}
	return batch, err
}
