package etcdstore

import (
	"context"
	"time"
)

// Revision is a point in the history of the whole store: every write, whatever its key, makes the next one.
// Zero means "no constraint" where a revision is asked for.
type Revision int64

// KV is one key as it stood at a revision. KVs are shared between readers: never modify Value.
type KV struct {
	Key      string
	Value    []byte
	Created  Revision // of the write that made the key; greater after a delete and a new create
	Modified Revision // of the last write to the key
	Version  int64    // how many writes the key has had since it was made: 1 for the first
	Lease    int64    // of the lease with which the key ends; zero: it has none
}

// Event is one change of one key. Several events have the same Revision when one transaction, range delete
// or expired lease changed several keys.
type Event struct {
	Revision Revision
	Key      string
	KV       *KV // the state after the change; nil: the key was deleted
	Prev     *KV // the state before the change; nil: the key was created, PrevLost, or nobody asked for it
}

// IsCreate says that the change made the key: it did not exist before.
func (e Event) IsCreate() bool { return e.KV != nil && e.KV.Created == e.KV.Modified }

// PrevLost says, of a watch that asks for it, that there was a state before the change, but the store has compacted it. Only
// changes at or before the revision of a compaction can be so, when a watch reads them after it.
func (e Event) PrevLost() bool { return e.Prev == nil && !e.IsCreate() }

// Batch is a step of a watch: complete revisions only, never a part of one.
type Batch struct {
	// Events are ordered by revision. Empty: nothing matched up to Through.
	Events []Event
	// Through is the revision up to which, and including which, the watcher has now delivered everything.
	// A new watch after Through continues without loss and without a duplicate.
	Through Revision
	// Received is when the last of the events came in. The zero time: it is not known.
	Received time.Time
}

// ListOptions narrow a List. The zero value lists everything, now.
type ListOptions struct {
	At    Revision // the state as of this revision; zero: the newest state, linearizable
	After string   // only keys greater than this one, in byte order; empty: from the start of the prefix
	Limit int      // at most so many keys; zero: all of them

	KeysOnly bool // the values are left out
	Exact    bool // not the keys that begin with prefix, but the key that is it
}

// WatchOptions say what a Watch follows. After is needed.
type WatchOptions struct {
	After    Revision // later writes than this one; must not be zero
	Exact    bool     // not to the keys that begin with prefix, but to the key that is it
	Previous bool     // events have the state before: a read for each of them in etcd
}

// Page is the answer to a List.
type Page struct {
	KVs       []KV     // in byte order of their keys
	Revision  Revision // the revision all of it is true at: ListOptions.At, or the store's newest
	Remaining int64    // how many keys of the prefix follow the last one of this page
}

// Guard is a key that must stand at a revision for a write to another key to be done.
type Guard struct {
	Key      string
	Modified Revision // must be positive
}

// Store is a history of keys and values. It is safe for concurrent use. storetest holds the contract as a suite.
//
// Every method ends when its context does, with an error that wraps ctx.Err(); a write then wraps ErrUnknownOutcome too
// if it may have been sent. A read that cannot reach a quorum fails with ErrUnavailable and never answers from a stale
// state. Keys and prefixes must not be empty: an empty prefix would be the whole store. The errors are those of errors.go
// and nothing else.
type Store interface {
	// Get reads one key, linearizably, with the revision of the read.
	// ErrNotFound (with the revision still set) when the key does not exist.
	Get(ctx context.Context, key string) (KV, Revision, error)

	// List reads the keys that begin with prefix, all as of one revision.
	// *CompactedError when o.At is no longer held, *FutureError when it is not reached yet.
	List(ctx context.Context, prefix string, o ListOptions) (Page, error)

	// Revision is the newest revision of the store, read linearizably.
	Revision(ctx context.Context) (Revision, error)

	// History names the history that the store's last answer was of; zero: there was none yet. Another name is another
	// history, whose revisions cannot be compared with those of the one before: a store that was swapped. A store that was
	// put back to an earlier state may keep its name; then its Revision goes back.
	History() uint64

	// Create writes a key that must not exist: ErrExists otherwise.
	Create(ctx context.Context, key string, value []byte) (Revision, error)

	// CreateGuarded is Create on the condition that another key still stands as it is known: ErrConflict otherwise, and
	// ErrExists before that.
	CreateGuarded(ctx context.Context, key string, value []byte, guard Guard) (Revision, error)

	// Update overwrites a key whose Modified must equal want: *ConflictError otherwise, ErrNotFound when it does not exist.
	// The store never writes without a want.
	Update(ctx context.Context, key string, value []byte, want Revision) (Revision, error)

	// Delete removes a key whose Modified must equal want (zero: whatever it is): *ConflictError otherwise,
	// ErrNotFound when it does not exist.
	Delete(ctx context.Context, key string, want Revision) (Revision, error)

	// Transact does all of a transaction at one revision, or nothing. Like the other writes it is sent once. A transaction
	// that writes nothing makes no revision. ErrInvalid when it writes a key twice.
	Transact(ctx context.Context, t Txn) (TxnResult, error)

	// Grant makes a lease: the keys that are put with it are deleted, at one revision, when that time is over, not before it
	// and as a rule soon after. The store may make it longer, and says how long it is.
	Grant(ctx context.Context, ttl time.Duration) (lease int64, granted time.Duration, err error)

	// Revoke ends a lease now: the keys that were put with it are deleted, at one revision, if there are any. Nothing when
	// there is no such lease.
	Revoke(ctx context.Context, lease int64) error

	// Watch follows the writes to the keys that begin with prefix.
	// It returns at once; what goes wrong, Next says. The watch ends with ctx, or with Close.
	// An o.After that the store has not reached is accepted: the watch is silent until the store is later than it.
	Watch(ctx context.Context, prefix string, o WatchOptions) Watcher
}

// Watcher is an open watch: ordered by revision, unique, atomic in revisions, reliable, resumable at Batch.Through.
// One goroutine calls Next; RequestProgress and Close may be called from others.
type Watcher interface {
	// Next waits for the next step. After an error it returns the same error for ever: one that wraps ctx.Err() of Watch's
	// context, a *CompactedError, ErrUnavailable, ErrDenied or ErrClosed. An ended ctx of Next itself ends only that call
	// and loses nothing. After ErrUnavailable open a new watch after the last Through.
	// A caller that is late loses nothing either: what it has not asked for waits in the store, a little of it in this
	// process. Only if a compaction overtakes it the watch ends with a *CompactedError.
	Next(ctx context.Context) (Batch, error)

	// RequestProgress asks the store to say, by an empty Batch, how far the watch is complete. Best effort: the answer
	// may never come (ask again), and answers may be fewer than requests. While nothing later than WatchOptions.After has been
	// written there is none: the watch is complete up to there anyway.
	RequestProgress(ctx context.Context) error

	// Close ends the watch and frees what it holds. It may be called more than once.
	Close() error
}
