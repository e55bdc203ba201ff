package watchcache

import (
	"context"
	"time"

	"revtail/etcdstore"
)

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
