package watchcache

import (
	"context"
	"fmt"

	"revtail/etcdstore"
	"revtail/gateway/watchcache/history"
)

// verifyHistory makes the reflector verify the history of the store; a history.ErrMismatch says that it has changed.
func (c *Cache) verifyHistory(mismatch error) {
	select {
	case c.verifyRequests <- mismatch:
	default:
	}
}

// checkHistory fails with history.ErrMismatch when the store has another history than the one that was served, or is older.
func (c *Cache) checkHistory(ctx context.Context, identity uint64) error {
	before, err := c.servedRevision()
	if err != nil {
		return nil //nolint:nilerr // nothing is served that could be of another history
	}
	newest, err := history.Verify(ctx, c.config.Store, identity, before)
	if err == nil && newest == before {
		c.markLive()
	}
	return err
}

// invalidate ends a generation: its watchers get a *RevertedError, and the cache serves nothing until it is filled anew.
func (c *Cache) invalidate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ready = false
	c.generation++
	c.held.Forget()
	c.wakeAllLocked()
	c.advanceLocked(c.through)
}

// CheckRevision returns a *RevertedError for a revision of a history that the store had before. Revision 1 is in every history: nothing is
// written at it.
func CheckRevision(store etcdstore.Store, at etcdstore.Revision) error {
	if at > 1 && at <= store.Former() {
		return &RevertedError{Requested: at}
	}
	return nil
}

// Expire ends every watch, so that its client lists again, because the resource serves something else from now on.
func (c *Cache) Expire() { c.invalidate() }

// checkGenerationLocked fails for a watcher of an earlier generation.
func (c *Cache) checkGenerationLocked(generation int, at etcdstore.Revision) error {
	if generation != c.generation {
		return &RevertedError{Requested: at, Current: c.through}
	}
	return nil
}

func (c *Cache) checkGeneration(generation int, at etcdstore.Revision) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.checkGenerationLocked(generation, at)
}

// checkServingLocked fails for a watcher that gets nothing more: its generation is over, the cache has stopped, or nothing was
// heard from etcd for too long.
func (c *Cache) checkServingLocked(generation int, at etcdstore.Revision, internal bool) error {
	if err := c.checkGenerationLocked(generation, at); err != nil {
		return err
	}
	if c.stopped || c.liveness.expired && !internal {
		return ErrStopped
	}
	return nil
}

func (c *Cache) checkServing(generation int, at etcdstore.Revision, internal bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.checkServingLocked(generation, at, internal)
}

// consistencyState is the state that the consistency checker compares with etcd.
func (c *Cache) consistencyState() (history.State, bool) {
	s, ready := c.currentSnapshot()
	if !ready {
		return history.State{}, false
	}
	revisionOf := func(key string) etcdstore.Revision {
		if o := s.get(c.path(key)); o != nil {
			return o.Revision
		}
		return 0
	}
	return history.State{Revision: s.revision, Size: s.size(), RevisionOf: revisionOf}, true
}

// reportDifference makes the cache start anew, because it does not hold what etcd has.
func (c *Cache) reportDifference(difference string) {
	c.config.Logger.Error("the cache is not what etcd has: it is filled anew", "prefix", c.config.Prefix, "difference", difference)
	c.mu.Lock()
	c.counters.Inconsistencies++
	c.mu.Unlock()
	c.verifyHistory(fmt.Errorf("%w: %s", history.ErrMismatch, difference))
}
