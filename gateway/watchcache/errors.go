package watchcache

import (
	"errors"
	"fmt"
	"time"

	"revtail/etcdstore"
)

// ErrStopped says that the cache has been stopped, or has not heard of etcd for too long. A stream that gets it has lost
// nothing: it ends cleanly and its client continues elsewhere from its last revision.
var ErrStopped = errors.New("the watch cache has stopped")

// NotReadyError says that the cache is being filled.
type NotReadyError struct {
	// RetryAfter is how long to wait before asking again.
	RetryAfter time.Duration
}

func (e *NotReadyError) Error() string { return "the cache of this resource is being filled" }

// ExpiredError says that what happened after a revision is not known any more: the client must list again.
type ExpiredError struct {
	Requested etcdstore.Revision
	Oldest    etcdstore.Revision // the oldest revision that could have been asked for; zero: not known
}

func (e *ExpiredError) Error() string {
	if e.Oldest == 0 {
		return fmt.Sprintf("too old resource version: %d", e.Requested)
	}
	return fmt.Sprintf("too old resource version: %d (%d)", e.Requested, e.Oldest)
}

// expired is the error of a watch whose revision etcd has compacted; other errors stay as they are.
func expired(err error) error {
	if compacted, ok := errors.AsType[*etcdstore.CompactedError](err); ok {
		return &ExpiredError{Requested: compacted.Requested, Oldest: compacted.Compacted}
	}
	return err
}

// RevertedError says that a revision is of another history than the store's: it lies in the store's future even after waiting
// for it, or the store was put back or swapped while it was followed, as by a restore from a backup.
type RevertedError struct{ Requested, Current etcdstore.Revision }

func (e *RevertedError) Error() string {
	return fmt.Sprintf("resource version %d is of another history than the store's, which is at %d now: list again", e.Requested, e.Current)
}

// TooLargeError says that a state as new as asked for did not arrive in time.
type TooLargeError struct{ Requested, Current etcdstore.Revision }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("Too large resource version: %d, current: %d", e.Requested, e.Current)
}
