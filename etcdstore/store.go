package etcdstore

import (
	"context"
	"time"
)

// Revision is a point in the history of the whole store: each write to any key makes the next one. As a parameter, zero means "no
// constraint".
type Revision int64

// KV is the state of a key at a revision. Readers share it: never modify Value.
type KV struct {
	Key      string
	Value    []byte
	Created  Revision // revision of the create; a create after a delete changes it
	Modified Revision // revision of the last write
	Version  int64    // number of writes since the create: 1 after it
	Lease    int64    // the lease that deletes the key when it ends; zero: none

	// Stale says that a store with encryption would write Value in another way now, as with a newer key.
	Stale bool
	// Unreadable says why Value is what etcd has, and not what was written: a store with encryption cannot decrypt it. Nil: it is readable.
	Unreadable *UnreadableError
}

// Event is one change of one key. Several events have the same Revision when one transaction, range delete
// or expired lease changed several keys.
type Event struct {
	Revision Revision
	Key      string
	KV       *KV // the state after the change; nil: the key was deleted
	Prev     *KV // the state before the change; nil: the key was created, PrevLost, or not requested
	// Received is when a journal got the event from etcd; zero: no journal has it. See Batch.Received.
	Received time.Time
}

// IsCreate reports whether the change created the key.
func (e Event) IsCreate() bool { return e.KV != nil && e.KV.Created == e.KV.Modified }

// PrevLost reports, for a watch with Previous, whether the store has compacted the state before the change. That happens only to changes
// at or before the revision of a compaction that a watch reads after it.
func (e Event) PrevLost() bool { return e.Prev == nil && !e.IsCreate() }

// Batch is a step of a watch. It contains complete revisions only.
type Batch struct {
	// Events are ordered by revision. Empty: nothing matched up to Through.
	Events []Event
	// Through is the revision up to which the watcher has delivered all events, inclusively. A new watch after Through neither loses nor
	// repeats events.
	Through Revision
	// Received is the time of the last response of etcd with these events; zero: unknown.
	Received time.Time
}

// ListOptions narrow a List. The zero value lists everything, now.
type ListOptions struct {
	At    Revision // the state at this revision; zero: the newest state, linearizable
	After string   // only keys greater than this one, in byte order; empty: from the start of the prefix
	Limit int      // maximum number of keys; zero: all

	KeysOnly bool // omits the values
	Exact    bool // only the key that equals prefix
}

// WatchOptions configure a Watch. After is required.
type WatchOptions struct {
	After    Revision // the events after this revision; must not be zero
	Exact    bool     // only the key that equals prefix
	Previous bool     // sets Event.Prev, which costs etcd a read per event
	// Through is a hint: the caller needs no events after this revision, and a store need not look for them. Zero: there is no bound.
	Through Revision
}

// Page is the result of a List, or a part of that of a Scan.
type Page struct {
	KVs       []KV     // in byte order of their keys
	Revision  Revision // of all KVs: ListOptions.At, or the newest one
	Remaining int64    // number of keys of the prefix after this page

	// Release gives the values of a page of a Scan back to the scan, which uses their memory for a later page: they must not be used afterwards,
	// unlike the keys. Nil: they have memory of their own. A consumer may call it, once; without that the page is garbage in the end.
	Release func()
}

// Guard is a condition of a write to another key: Key must be at a revision.
type Guard struct {
	Key      string
	Modified Revision // must be positive
}

// Store is a history of keys and values. It is safe for concurrent use. storetest holds the contract as a suite.
//
// Each method ends with its context, with an error that wraps ctx.Err(); the error of a write that may have been sent wraps
// ErrUnknownOutcome too. A read without a quorum fails with ErrUnavailable and never returns a stale state. Keys and prefixes must not be
// empty: an empty prefix would be the whole store. All errors are those of errors.go.
type Store interface {
	// Get reads one key, linearizably, and returns the revision of the read.
	// ErrNotFound, also with the revision, if the key does not exist.
	Get(ctx context.Context, key string) (KV, Revision, error)

	// List reads the keys that begin with prefix, all at one revision.
	// *CompactedError if o.At has been compacted, *FutureError if the store has not reached it.
	List(ctx context.Context, prefix string, o ListOptions) (Page, error)

	// Revision reads the newest revision of the store, linearizably.
	Revision(ctx context.Context) (Revision, error)

	// History returns the id of the history of the last response; zero: no response yet. Revisions of two histories cannot be compared:
	// the store was replaced. A restored store may keep its id; then its Revision decreases.
	History() uint64

	// Former returns a revision up to which revisions are taken for those of histories before the present one: the newest one that this
	// process saw of them, if it is less than the first one that it saw of the present history. Zero: the history has not changed.
	Former() Revision

	// Create writes a key that must not exist: ErrExists otherwise.
	Create(ctx context.Context, key string, value []byte) (Revision, error)

	// CreateGuarded is Create on the condition of a guard: ErrExists if the key exists, else ErrConflict if the guard does not hold.
	CreateGuarded(ctx context.Context, key string, value []byte, guard Guard) (Revision, error)

	// Update overwrites a key whose Modified must equal want, which must be positive: *ConflictError otherwise, ErrNotFound if the key does
	// not exist.
	Update(ctx context.Context, key string, value []byte, want Revision) (Revision, error)

	// Delete deletes a key whose Modified must equal want (zero: any): *ConflictError otherwise, ErrNotFound if the key does not exist.
	Delete(ctx context.Context, key string, want Revision) (Revision, error)

	// Transact executes a transaction at one revision. Like the other writes, it is sent once. A transaction without writes makes no
	// revision. ErrInvalid if it writes a key twice.
	Transact(ctx context.Context, t Txn) (TxnResult, error)

	// Grant creates a lease: the store deletes the keys of the lease, at one revision, not before ttl and usually soon after. The store may
	// extend ttl, and returns the extended one.
	Grant(ctx context.Context, ttl time.Duration) (lease int64, granted time.Duration, err error)

	// Revoke ends a lease now: the store deletes its keys at one revision. It is no error if the lease does not exist.
	Revoke(ctx context.Context, lease int64) error

	// Watch follows the writes to the keys that begin with prefix. It returns at once; Next returns the errors. The watch ends with ctx or
	// with Close. If the store has not reached o.After, the watch is silent until the store is past it.
	Watch(ctx context.Context, prefix string, o WatchOptions) Watcher
}

// Watcher is an open watch: ordered by revision, unique, atomic per revision, reliable, resumable at Batch.Through.
// One goroutine calls Next; RequestProgress and Close may be called from others.
type Watcher interface {
	// Next waits for the next step. After an error it always returns the same error: one that wraps ctx.Err() of the context of Watch, a
	// *CompactedError, ErrUnavailable, ErrDenied or ErrClosed. If ctx of Next ends, only that call ends, and no event is lost. After
	// ErrUnavailable, open a new watch after the last Through.
	// A slow caller loses no events: they stay in the store, and a few in this process. If the store compacts them, the watch ends with a
	// *CompactedError.
	Next(ctx context.Context) (Batch, error)

	// RequestProgress requests an empty Batch, whose Through is the revision up to which the watch is complete. Best effort: responses may be lost or
	// merged. There is no response until the store is past WatchOptions.After, because the watch is complete up to that revision.
	RequestProgress(ctx context.Context) error

	// Close ends the watch and frees its resources. It may be called more than once.
	Close() error
}
