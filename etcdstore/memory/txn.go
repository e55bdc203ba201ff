package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"revtail/etcdstore"
)

// Transact implements etcdstore.Store.
func (s *Store) Transact(ctx context.Context, t etcdstore.Txn) (etcdstore.TxnResult, error) {
	if err := ctx.Err(); err != nil {
		return etcdstore.TxnResult{}, fmt.Errorf("transaction: %w", err)
	}
	if err := t.Check(); err != nil {
		return etcdstore.TxnResult{}, err
	}
	if twice(t.Then) || twice(t.Else) {
		return etcdstore.TxnResult{}, fmt.Errorf("%w: a key is written twice", etcdstore.ErrInvalid)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := etcdstore.TxnResult{Succeeded: !slices.ContainsFunc(t.If, func(c etcdstore.Condition) bool { return !c.Holds(s.nowLocked(c.Key)) })}
	ops := t.Then
	if !out.Succeeded {
		ops = t.Else
	}
	next := s.nextLocked()
	for _, op := range ops {
		out.Results = append(out.Results, s.doLocked(next, op))
	}
	out.Revision = s.publishLocked(next)
	return out, nil
}

// Txn puts and deletes several keys at one revision, as other programs do: the puts come first, both in the order of their keys. It
// ignores keys to be deleted that do not exist. Nothing to do makes no revision. It panics if a key is to be put and deleted.
func (s *Store) Txn(puts map[string][]byte, deletes []string) etcdstore.Revision {
	var ops []etcdstore.Op
	for _, key := range slices.Sorted(maps.Keys(puts)) {
		ops = append(ops, etcdstore.Op{Verb: etcdstore.Put, Key: key, Value: puts[key]})
	}
	for _, key := range slices.Compact(slices.Sorted(slices.Values(deletes))) {
		ops = append(ops, etcdstore.Op{Verb: etcdstore.Delete, Key: key})
	}
	result, err := s.Transact(context.Background(), etcdstore.Txn{Then: ops}) //nolint:forbidigo // it does not block
	if err != nil {
		panic("memory: " + err.Error())
	}
	return result.Revision
}

// twice reports whether ops write a key more than once.
func twice(ops []etcdstore.Op) bool {
	for i, a := range ops {
		for _, b := range ops[:i] {
			if (a.Verb == etcdstore.Put || b.Verb == etcdstore.Put) && a.Verb != etcdstore.Get && b.Verb != etcdstore.Get && (covers(a, b.Key) || covers(b, a.Key)) {
				return true
			}
		}
	}
	return false
}

func covers(op etcdstore.Op, key string) bool {
	return op.Key == key || op.Prefix && strings.HasPrefix(key, op.Key)
}

func (s *Store) doLocked(next *step, op etcdstore.Op) (out etcdstore.OpResult) {
	switch op.Verb {
	case etcdstore.Get:
		if kv := s.nowLocked(op.Key); kv != nil {
			found := *kv
			out.KV = &found
		}
	case etcdstore.Put:
		s.putLocked(next, op.Key, op.Value, op.Lease)
	case etcdstore.Delete:
		for _, key := range slices.Sorted(maps.Keys(s.keys)) {
			if covers(op, key) && s.nowLocked(key) != nil {
				s.writeLocked(next, key, nil)
				out.Deleted++
			}
		}
	}
	return out
}

// Grant implements etcdstore.Store. Leases do not expire by time: call Expire.
func (s *Store) Grant(ctx context.Context, ttl time.Duration) (lease int64, granted time.Duration, err error) {
	if err := ctx.Err(); err != nil {
		return 0, 0, fmt.Errorf("lease: %w", err)
	}
	if ttl <= 0 {
		return 0, 0, fmt.Errorf("%w: a lease of %v", etcdstore.ErrInvalid, ttl)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leases++
	s.live[s.leases] = struct{}{}
	return s.leases, ttl, nil
}

// Revoke implements etcdstore.Store.
func (s *Store) Revoke(ctx context.Context, lease int64) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("lease: %w", err)
	}
	s.Expire(lease)
	return nil
}

// Leases returns the number of leases that have not ended.
func (s *Store) Leases() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.live)
}

// Expire deletes the keys of a lease, at one revision.
func (s *Store) Expire(lease int64) etcdstore.Revision {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, lease)
	next := s.nextLocked()
	for _, key := range slices.Sorted(maps.Keys(s.keys)) {
		if kv := s.nowLocked(key); kv != nil && kv.Lease == lease {
			s.writeLocked(next, key, nil)
		}
	}
	return s.publishLocked(next)
}
