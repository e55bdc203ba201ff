package watchcache

import (
	"context"
	"errors"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/watchcache/history"
)

// Newest reads the store's newest revision, linearizably: a state that is as new holds every write that was acknowledged
// before the call. A store that is older than what the cache has served already was put back to an earlier state. The cache
// then starts anew, and until it has, this is a *NotReadyError.
func (c *Cache) Newest(ctx context.Context) (etcdstore.Revision, error) {
	before, err := c.servedRevision()
	if err != nil {
		return 0, err
	}
	newest, err := c.config.Store.Revision(ctx)
	if err == nil && newest < before {
		c.verifyHistory(nil)
		return 0, &NotReadyError{RetryAfter: time.Second}
	}
	return newest, err
}

// served is up to which revision the cache has served.
func (c *Cache) servedRevision() (etcdstore.Revision, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ready {
		return 0, c.notReadyLocked()
	}
	return c.through, nil
}

// patience is how long a reader waits for a revision that the cache has not reached (kube-apiserver: 3 s as well).
const blockTimeout = 3 * time.Second

// WaitUntil waits until the cache is complete up to a revision: *TooLargeError when it is not after 3 s, *NotReadyError,
// ErrStopped, or ctx's error.
func (c *Cache) WaitUntil(ctx context.Context, revision etcdstore.Revision) error {
	advanced, err := c.waitChannel(revision)
	if advanced == nil {
		return err
	}
	timer := time.NewTimer(blockTimeout)
	defer timer.Stop()
	for ; advanced != nil; advanced, err = c.waitChannel(revision) {
		select {
		case c.progressRequested <- struct{}{}:
		default:
		}
		select {
		case <-advanced:
			c.doneWaiting()
		case <-timer.C:
			c.doneWaiting()
			return &TooLargeError{Requested: revision, Current: c.Stats().Revision}
		case <-ctx.Done():
			c.doneWaiting()
			return ctx.Err()
		}
	}
	return err
}

// reached returns nil and nil when the cache is complete up to a revision, else what to wait for; leave takes that back.
func (c *Cache) waitChannel(revision etcdstore.Revision) (<-chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ready {
		return nil, c.notReadyLocked()
	}
	if c.through >= revision {
		return nil, nil
	}
	if c.advanced == nil {
		c.advanced = make(chan struct{})
	}
	c.waiters++
	return c.advanced, nil
}

func (c *Cache) doneWaiting() {
	c.mu.Lock()
	c.waiters--
	c.mu.Unlock()
}

func (c *Cache) hasWaiters() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiters > 0
}

// refreshTimeout is how long Refresh waits at most: for the pauses between revision reads and progress requests, and for etcd's
// answers.
const refreshTimeout = time.Second

// Refresh waits until the cache holds every write that any replica acknowledged before the call. It returns the revision up to which
// the cache is complete, also with an error: ctx's, also after a second, *NotReadyError, ErrStopped, or one of the store. Any number
// of callers cost one read of the store in 200 ms, and one progress request where the watch has not reached that revision.
func (c *Cache) Refresh(ctx context.Context) (through etcdstore.Revision, err error) {
	ctx, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	if _, err = c.servedRevision(); err == nil {
		through, err = c.reads.Newest(ctx)
	}
	if err == nil {
		err = c.WaitUntil(ctx, through)
	}
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.through, err
	}
	return through, nil
}

// ask asks etcd how far the watch is complete: now and then so that a quiet watch is known to live, and at once when a reader
// waits, but not more often than every askGap. It returns when ctx ends, or with an error when etcd has another history.
func (c *Cache) requestProgress(ctx context.Context, watcher etcdstore.Watcher, identity uint64) error {
	idle := time.NewTicker(idleProgressPeriod)
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case untrue := <-c.verifyRequests:
			if untrue == nil {
				untrue = c.checkHistory(ctx, identity)
			}
			if errors.Is(untrue, history.ErrMismatch) {
				return untrue
			}
		case <-c.progressRequested:
		case <-idle.C:
		}
		for {
			if err := watcher.RequestProgress(ctx); err != nil {
				c.config.Logger.Debug("progress request failed", "prefix", c.config.Prefix, "error", err)
			}
			history.Sleep(ctx, history.ProgressPeriod)
			if ctx.Err() != nil || !c.hasWaiters() {
				break
			}
		}
	}
}

// patienceWithEtcd is how long watches stay open while nothing is heard of etcd. Then they end, cleanly, so that their clients
// may find a gateway that is better off (kube-apiserver: 30 s as well).
const livenessTimeout = 30 * time.Second

// contact is when something was heard of etcd last.
type liveness struct {
	lastContact time.Time
	expired     bool // not for patienceWithEtcd
	timer       *time.Timer
}

// listen starts the watch over the contact; the caller ends it with the function that it returns.
func (c *Cache) startLiveness() (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.liveness.lastContact = time.Now()
	c.liveness.timer = time.AfterFunc(livenessTimeout, c.expireLiveness)
	return c.liveness.timer.Stop
}

// hear notes that the cache is as complete as etcd is at this moment, or was when it said so.
func (c *Cache) markLive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.liveness.lastContact, c.liveness.expired = time.Now(), false
	c.liveness.timer.Reset(livenessTimeout)
}

// lose ends the watches: they get ErrStopped, and new ones a *NotReadyError until etcd is heard of again. Lists that may be
// old go on.
func (c *Cache) expireLiveness() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.liveness.expired = true
	c.wakeAllLocked()
}

// Age is how long ago the cache was known to be complete.
func (c *Cache) Age() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.liveness.lastContact)
}
