package watchcache

import (
	"errors"
	"fmt"
	"time"

	"revtail/etcdstore"
)

// ErrStopped says that the cache has stopped, or has not heard from etcd for too long. The stream has lost nothing: it ends
// cleanly, and its client resumes elsewhere from its last revision.
var ErrStopped = errors.New("the watch cache has stopped")

// NotReadyError says that the cache is being filled.
type NotReadyError struct {
	// RetryAfter is how long to wait before the next attempt.
	RetryAfter time.Duration
}

func (e *NotReadyError) Error() string { return "the cache of this resource is being filled" }

// ExpiredError says that etcd has compacted the events after a revision: the client must list again.
type ExpiredError struct {
	Requested etcdstore.Revision
	Oldest    etcdstore.Revision // the oldest revision that etcd has; zero: not known
}

func (e *ExpiredError) Error() string {
	if e.Oldest == 0 {
		return fmt.Sprintf("too old resource version: %d", e.Requested)
	}
	return fmt.Sprintf("too old resource version: %d (%d)", e.Requested, e.Oldest)
}

// expired turns the store's error about a compacted revision into an ExpiredError; other errors stay as they are.
func expired(err error) error {
	if compacted, ok := errors.AsType[*etcdstore.CompactedError](err); ok {
		return &ExpiredError{Requested: compacted.Requested, Oldest: compacted.Compacted}
	}
	return err
}

// UnreadableEventError says that the value of an event cannot be decrypted. The client must list again: the state may be readable, as
// after a rotation of keys.
type UnreadableEventError struct {
	Revision etcdstore.Revision
	Reason   *etcdstore.UnreadableError
}

func (e *UnreadableEventError) Error() string {
	return fmt.Sprintf("the change at resource version %d cannot be shown: %v: list again", e.Revision, e.Reason)
}

// SlowReaderError says that the state that a client reads was dropped before the client had all of it, because the states of slow clients took too much
// memory. The client must list again.
type SlowReaderError struct{ Revision etcdstore.Revision }

func (e *SlowReaderError) Error() string {
	return fmt.Sprintf("the state at resource version %d was read too slowly, and takes too much memory: list again", e.Revision)
}

// RevertedError says that a revision belongs to another history than the store's: the store does not reach it in time, or the
// store was restored from a backup or replaced. Current is zero if it is not known.
type RevertedError struct{ Requested, Current etcdstore.Revision }

func (e *RevertedError) Error() string {
	if e.Current == 0 {
		return fmt.Sprintf("resource version %d is of another history than the store's: list again", e.Requested)
	}
	return fmt.Sprintf("resource version %d is of another history than the store's, which is at %d now: list again", e.Requested, e.Current)
}

// TooLargeError says that the cache did not reach a revision in time.
type TooLargeError struct{ Requested, Current etcdstore.Revision }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("Too large resource version: %d, current: %d", e.Requested, e.Current)
}
