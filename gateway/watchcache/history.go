package watchcache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"revtail/etcdstore"
)

// errUntrue: what was served is not what the store has. The cache starts anew, and its watchers have to list again.
var errUntrue = errors.New("what was served is not what the store has")

// Newest reads the store's newest revision, linearizably: a state that is as new holds every write that was acknowledged
// before the call. A store that is older than what the cache has served already was put back to an earlier state. The cache
// then starts anew, and until it has, this is a *NotReadyError.
func (c *Cache) Newest(ctx context.Context) (etcdstore.Revision, error) {
	before, err := c.served()
	if err != nil {
		return 0, err
	}
	newest, err := c.config.Store.Revision(ctx)
	if err == nil && newest < before {
		c.suspect(nil)
		return 0, &NotReadyError{RetryAfter: time.Second}
	}
	return newest, err
}

// served is up to which revision the cache has served.
func (c *Cache) served() (etcdstore.Revision, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ready {
		return 0, c.unreadyLocked()
	}
	return c.through, nil
}

// suspect has somebody look whether the store is still the one that it was, or tells why it is not: with an errUntrue.
func (c *Cache) suspect(untrue error) {
	select {
	case c.suspected <- untrue:
	default:
	}
}

// sameHistory fails when the store has not the history that was served: it is another one, or it is older than it was.
// A store that is where the cache is has nothing to tell: the cache is as new as can be.
func (c *Cache) sameHistory(ctx context.Context, history uint64) error {
	before, err := c.served()
	if err != nil {
		return nil //nolint:nilerr // nothing is served that could be of another history
	}
	newest, err := c.config.Store.Revision(ctx)
	switch now := c.config.Store.History(); {
	case err != nil:
		return err
	case now != history:
		return fmt.Errorf("%w: it is %x, and was %x", errUntrue, now, history)
	case newest < before:
		return fmt.Errorf("%w: it is at %d, and was at %d", errUntrue, newest, before)
	case newest == before:
		c.hear()
	}
	return nil
}

// forget ends everything that was served of a history that the store does not have any more: watchers get a *RevertedError,
// and the cache serves nothing until it is filled anew.
func (c *Cache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ready = false
	c.era++
	c.pages = nil
	c.wakeAllLocked()
	c.advanceLocked(c.through)
}

// Expire ends every watch so that its client lists again: what was served is not what there is from now on.
func (c *Cache) Expire() { c.forget() }

// presentLocked fails for a cursor that is of a history that is over.
func (c *Cache) presentLocked(era int, at etcdstore.Revision) error {
	if era != c.era {
		return &RevertedError{Requested: at, Current: c.through}
	}
	return nil
}

func (c *Cache) present(era int, at etcdstore.Revision) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.presentLocked(era, at)
}

// servesLocked fails for a cursor that gets nothing more: its history is over, or nothing has been heard of etcd for too long,
// or the cache has stopped.
func (c *Cache) servesLocked(era int, at etcdstore.Revision, own bool) error {
	if err := c.presentLocked(era, at); err != nil {
		return err
	}
	if c.stopped || c.contact.lost && !own {
		return ErrStopped
	}
	return nil
}

func (c *Cache) serves(era int, at etcdstore.Revision, own bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.servesLocked(era, at, own)
}
