package watchcache

import (
	"context"
	"errors"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/watchcache/history"
)

// Newest reads the store's newest revision, linearizably: a state of that revision holds every write that was acknowledged before
// the call. *NotReadyError says that the store is older than the cache, because of a restored backup; the cache starts anew.
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

// servedRevision is the revision up to which the cache has served.
func (c *Cache) servedRevision() (etcdstore.Revision, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ready {
		return 0, c.notReadyLocked()
	}
	return c.through, nil
}

// blockTimeout is how long a reader waits for a revision that the cache has not reached (kube-apiserver: 3 s as well).
const blockTimeout = 3 * time.Second

// WaitUntil waits until the cache is complete up to a revision: *TooLargeError after 3 s, *NotReadyError, ErrStopped, or one of ctx.
func (c *Cache) WaitUntil(ctx context.Context, revision etcdstore.Revision) error {
	advanced, err := c.waitChannel(revision)
	if advanced == nil {
		return err
	}
	timer := time.NewTimer(blockTimeout)
	defer timer.Stop()
	for ; advanced != nil; advanced, err = c.waitChannel(revision) {
		notify(c.progressRequested)
		select {
		case <-advanced:
		case <-timer.C:
			err = &TooLargeError{Requested: revision, Current: c.Stats().Revision}
		case <-ctx.Done():
			err = ctx.Err()
		}
		if c.waiters.Add(-1); err != nil {
			return err
		}
	}
	return err
}

// waitChannel returns nil and nil when the cache is complete up to a revision, else a channel that closes when the cache advances.
// The caller of the second kind is one of waiters, and subtracts itself.
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
	c.waiters.Add(1)
	return c.advanced, nil
}

// refreshTimeout is how long Refresh waits at most: for pauses between reads and progress requests, and for etcd's answers.
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

// requestProgress requests the progress of etcd's watch: from time to time to prove that a quiet watch is alive, and at once when
// a reader waits. It returns when ctx ends, or with an error when etcd has another history.
func (c *Cache) requestProgress(ctx context.Context, watcher etcdstore.Watcher, identity uint64) error {
	idle := time.NewTicker(idleProgressPeriod)
	defer idle.Stop()
	trim := time.NewTicker(trimPeriod)
	defer trim.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case mismatch := <-c.verifyRequests:
			if mismatch == nil {
				mismatch = c.checkHistory(ctx, identity)
			}
			if errors.Is(mismatch, history.ErrMismatch) {
				return mismatch
			}
		case <-trim.C:
			c.trimLog()
			continue
		case <-c.progressRequested:
		case <-idle.C:
		}
		for {
			if err := watcher.RequestProgress(ctx); err != nil {
				c.config.Logger.Debug("progress request failed", "prefix", c.config.Prefix, "error", err)
			}
			history.Sleep(ctx, history.ProgressPeriod)
			if ctx.Err() != nil || c.waiters.Load() == 0 {
				break
			}
		}
	}
}

// livenessTimeout is how long watches stay open while nothing is heard from etcd. They then end cleanly, so that their clients
// find a gateway with a connection (kube-apiserver: 30 s as well).
const livenessTimeout = 30 * time.Second

// liveness says when the cache heard from etcd last.
type liveness struct {
	lastContact time.Time
	expired     bool // nothing was heard for livenessTimeout
	timer       *time.Timer
}

// startLiveness starts the timer, and returns the function that stops it.
func (c *Cache) startLiveness() (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.liveness.lastContact = time.Now()
	c.liveness.timer = time.AfterFunc(livenessTimeout, c.expireLiveness)
	return c.liveness.timer.Stop
}

// markLive records that the cache holds everything that etcd has, or had when it answered.
func (c *Cache) markLive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.liveness.lastContact, c.liveness.expired = time.Now(), false
	c.liveness.timer.Reset(livenessTimeout)
}

// expireLiveness ends the watches with ErrStopped; new ones get *NotReadyError until etcd answers again. Lists from memory go on.
func (c *Cache) expireLiveness() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.liveness.expired = true
	c.wakeAllLocked()
}

// Age is the time since the cache was known to be complete.
func (c *Cache) Age() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.liveness.lastContact)
}
