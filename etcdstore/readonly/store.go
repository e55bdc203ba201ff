// Package readonly has what all stores of data that is only read have in common: the refusal of writes, transactions that only read, and watches that
// wait for their end after the last event.
package readonly

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"revtail/etcdstore"
)

// Source is the data of a store.
type Source struct {
	Refusal error                     // of every write
	Newest  func() etcdstore.Revision // the newest revision
	// Find returns the state of a key at the newest revision; nil: it does not exist.
	Find func(ctx context.Context, key string) (*etcdstore.KV, error)
}

// Store is the common part of a store, which embeds it and adds List and Watch. No lease ends.
type Store struct {
	source  Source
	closing sync.Once
	closed  chan struct{}
}

// New returns the common part of the store of a source.
func New(s Source) *Store { return &Store{source: s, closed: make(chan struct{})} }

// End ends all watches. It reports whether this is the first call.
func (s *Store) End() (first bool) {
	s.closing.Do(func() {
		close(s.closed)
		first = true
	})
	return first
}

// Closed is closed by End.
func (s *Store) Closed() <-chan struct{} { return s.closed }

// Check refuses a key or prefix that etcd would take for all keys, and an ended context.
func Check(ctx context.Context, key string) error {
	if key == "" {
		return fmt.Errorf("%w: keys and prefixes must not be empty", etcdstore.ErrInvalid)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%q: %w", key, err)
	}
	return nil
}

// RevisionOf returns the revision of a list. The error says that its options are invalid, or that the revision is yet to come.
func (s *Store) RevisionOf(ctx context.Context, prefix string, o etcdstore.ListOptions) (etcdstore.Revision, error) {
	if err := Check(ctx, prefix); err != nil {
		return 0, err
	}
	newest := s.source.Newest()
	switch {
	case o.At < 0 || o.Limit < 0:
		return 0, fmt.Errorf("%w: At and Limit must not be negative", etcdstore.ErrInvalid)
	case o.At > newest:
		return 0, fmt.Errorf("list %q: %w", prefix, &etcdstore.FutureError{Requested: o.At, Current: newest})
	case o.At == 0:
		return newest, nil
	}
	return o.At, nil
}

// Get implements etcdstore.Store.
func (s *Store) Get(ctx context.Context, key string) (etcdstore.KV, etcdstore.Revision, error) {
	if err := Check(ctx, key); err != nil {
		return etcdstore.KV{}, 0, err
	}
	kv, err := s.source.Find(ctx, key)
	switch {
	case err != nil:
		return etcdstore.KV{}, 0, fmt.Errorf("get %q: %w", key, err)
	case kv == nil:
		return etcdstore.KV{}, s.source.Newest(), fmt.Errorf("get %q: %w", key, etcdstore.ErrNotFound)
	}
	return *kv, s.source.Newest(), nil
}

// Transact implements etcdstore.Store. A transaction that only reads is executed at the newest revision.
func (s *Store) Transact(ctx context.Context, t etcdstore.Txn) (etcdstore.TxnResult, error) {
	err := ctx.Err()
	if err == nil {
		err = t.Check()
	}
	if err == nil && slices.ContainsFunc(slices.Concat(t.Then, t.Else), func(op etcdstore.Op) bool { return op.Verb != etcdstore.Get }) {
		err = s.source.Refusal
	}
	if err != nil {
		return etcdstore.TxnResult{}, fmt.Errorf("transaction: %w", err)
	}
	out, ops := etcdstore.TxnResult{Succeeded: true, Revision: s.source.Newest()}, t.Then
	for _, c := range t.If {
		kv, err := s.source.Find(ctx, c.Key)
		if err != nil {
			return etcdstore.TxnResult{}, fmt.Errorf("transaction: %w", err)
		}
		if !c.Holds(kv) {
			out.Succeeded, ops = false, t.Else
		}
	}
	for _, op := range ops {
		kv, err := s.source.Find(ctx, op.Key)
		if err != nil {
			return etcdstore.TxnResult{}, fmt.Errorf("transaction: %w", err)
		}
		out.Results = append(out.Results, etcdstore.OpResult{KV: kv})
	}
	return out, nil
}

// Revision implements etcdstore.Store.
func (s *Store) Revision(ctx context.Context) (etcdstore.Revision, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("revision: %w", err)
	}
	return s.source.Newest(), nil
}

// History implements etcdstore.Store. There is only one history.
func (*Store) History() uint64 { return 1 }

// Former implements etcdstore.Store.
func (*Store) Former() etcdstore.Revision { return 0 }

// Create implements etcdstore.Store.
func (s *Store) Create(ctx context.Context, key string, _ []byte) (etcdstore.Revision, error) {
	return s.refuse(ctx, "create", key)
}

// CreateGuarded implements etcdstore.Store.
func (s *Store) CreateGuarded(ctx context.Context, key string, _ []byte, _ etcdstore.Guard) (etcdstore.Revision, error) {
	return s.refuse(ctx, "create", key)
}

// Update implements etcdstore.Store.
func (s *Store) Update(ctx context.Context, key string, _ []byte, _ etcdstore.Revision) (etcdstore.Revision, error) {
	return s.refuse(ctx, "update", key)
}

// Delete implements etcdstore.Store.
func (s *Store) Delete(ctx context.Context, key string, _ etcdstore.Revision) (etcdstore.Revision, error) {
	return s.refuse(ctx, "delete", key)
}

func (s *Store) refuse(ctx context.Context, verb, key string) (etcdstore.Revision, error) {
	if err := Check(ctx, key); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("%s %q: %w", verb, key, s.source.Refusal)
}

// Grant implements etcdstore.Store.
func (s *Store) Grant(context.Context, time.Duration) (lease int64, granted time.Duration, err error) {
	return 0, 0, fmt.Errorf("lease: %w", s.source.Refusal)
}

// Revoke implements etcdstore.Store.
func (s *Store) Revoke(context.Context, int64) error {
	return fmt.Errorf("lease: %w", s.source.Refusal)
}
