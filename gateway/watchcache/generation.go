package watchcache

import (
	"context"
	"fmt"

	"revtail/etcdstore"
	"revtail/gateway/watchcache/history"
)

// suspect has somebody look whether the store is still the one that it was, or tells why it is not: with an history.ErrMismatch.
func (c *Cache) verifyHistory(untrue error) {
	select {
	case c.verifyRequests <- untrue:
	default:
	}
}

// sameHistory fails when the store has not the history that was served: it is another one, or it is older than it was.
// A store that is where the cache is has nothing to tell: the cache is as new as can be.
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

// forget ends everything that was served of a history that the store does not have any more: watchers get a *RevertedError,
// and the cache serves nothing until it is filled anew.
func (c *Cache) invalidate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ready = false
	c.generation++
	c.snapshots = nil
	c.wakeAllLocked()
	c.advanceLocked(c.through)
}

// Expire ends every watch so that its client lists again: what was served is not what there is from now on.
func (c *Cache) Expire() { c.invalidate() }

// presentLocked fails for a cursor that is of a history that is over.
func (c *Cache) checkGenerationLocked(era int, at etcdstore.Revision) error {
	if era != c.generation {
		return &RevertedError{Requested: at, Current: c.through}
	}
	return nil
}

func (c *Cache) checkGeneration(era int, at etcdstore.Revision) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.checkGenerationLocked(era, at)
}

// servesLocked fails for a cursor that gets nothing more: its history is over, or nothing has been heard of etcd for too long,
// or the cache has stopped.
func (c *Cache) checkServingLocked(era int, at etcdstore.Revision, own bool) error {
	if err := c.checkGenerationLocked(era, at); err != nil {
		return err
	}
	if c.stopped || c.liveness.expired && !own {
		return ErrStopped
	}
	return nil
}

func (c *Cache) checkServing(era int, at etcdstore.Revision, own bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.checkServingLocked(era, at, own)
}

// inspected is the state that the consistency checker compares with etcd.
func (c *Cache) consistencyState() (history.State, bool) {
	c.mu.Lock()
	s, ready := c.current, c.ready
	c.mu.Unlock()
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
	c.inconsistencies++
	c.mu.Unlock()
	c.verifyHistory(fmt.Errorf("%w: %s", history.ErrMismatch, difference))
}
