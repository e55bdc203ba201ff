// Package memory is an etcdstore.Store in memory: a simple model of etcd. Tests compare with it, and use it where they need fake time or
// no network.
//
// It is test support: only tests import it, and no part of the program has it.
//
// It has the rules of etcd, also the odd ones: a new store is at revision 1; after a compaction at C, the state at C can be read and
// changes at C can be watched, but without the state before them. It has no size limits and is always available.
package memory

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"revtail/etcdstore"
)

// Store is the history of its keys since the last Compact. It has no Close.
type Store struct {
	etcdstore.Writes

	mu        sync.RWMutex         // guards the fields below
	keys      map[string][]version // the history of each key, oldest first
	compacted etcdstore.Revision   // zero: never
	oldest    *step                // the log, for watchers: from the step before the compacted one
	newest    *step
	leases    int64              // number of granted leases
	live      map[int64]struct{} // the leases that have not ended
}

var _ etcdstore.Store = (*Store)(nil)

// version is the state of a key after a write.
type version struct {
	at etcdstore.Revision
	kv *etcdstore.KV // nil: deleted
}

// step is one revision of the log. A watcher references its current step, so that a compaction does not affect watches that are up to
// date, as in etcd.
type step struct {
	revision etcdstore.Revision
	events   []etcdstore.Event
	ready    chan struct{} // closed when next is set
	next     *step
}

// New returns an empty store at revision 1.
func New() *Store {
	first := &step{revision: 1, ready: make(chan struct{})}
	s := &Store{keys: map[string][]version{}, oldest: first, newest: first, live: map[int64]struct{}{}}
	s.Writes = etcdstore.NewWrites(s.Transact)
	return s
}

// Get implements etcdstore.Store.
func (s *Store) Get(ctx context.Context, key string) (etcdstore.KV, etcdstore.Revision, error) {
	if err := check(ctx, key); err != nil {
		return etcdstore.KV{}, 0, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	rev := s.newest.revision
	kv := s.atLocked(key, rev)
	if kv == nil {
		return etcdstore.KV{}, rev, fmt.Errorf("get %q: %w", key, etcdstore.ErrNotFound)
	}
	return *kv, rev, nil
}

// List implements etcdstore.Store.
func (s *Store) List(ctx context.Context, prefix string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	if err := check(ctx, prefix); err != nil {
		return etcdstore.Page{}, err
	}
	if o.At < 0 || o.Limit < 0 {
		return etcdstore.Page{}, fmt.Errorf("%w: At and Limit must not be negative", etcdstore.ErrInvalid)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	page := etcdstore.Page{Revision: o.At}
	switch current := s.newest.revision; {
	case o.At == 0:
		page.Revision = current
	case o.At > current:
		return etcdstore.Page{}, fmt.Errorf("list %q: %w", prefix, &etcdstore.FutureError{Requested: o.At, Current: current})
	case o.At < s.compacted:
		return etcdstore.Page{}, fmt.Errorf("list %q: %w", prefix, &etcdstore.CompactedError{Requested: o.At, Compacted: s.compacted})
	}
	for _, key := range slices.Sorted(maps.Keys(s.keys)) {
		if !strings.HasPrefix(key, prefix) || key <= o.After || o.Exact && key != prefix {
			continue
		}
		switch kv := s.atLocked(key, page.Revision); {
		case kv == nil:
		case o.Limit > 0 && len(page.KVs) == o.Limit:
			page.Remaining++
		default:
			page.KVs = append(page.KVs, *kv)
			if o.KeysOnly {
				page.KVs[len(page.KVs)-1].Value = nil
			}
		}
	}
	return page, nil
}

// Revision implements etcdstore.Store.
func (s *Store) Revision(ctx context.Context) (etcdstore.Revision, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("revision: %w", err)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.newest.revision, nil
}

// History implements etcdstore.Store. There is only one history.
func (s *Store) History() uint64 { return 1 }

// Former implements etcdstore.Store.
func (s *Store) Former() etcdstore.Revision { return 0 }

// Compact drops the history before rev. Like etcd, it refuses compacted (*etcdstore.CompactedError) and future revisions
// (*etcdstore.FutureError).
func (s *Store) Compact(rev etcdstore.Revision) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch current := s.newest.revision; {
	case rev <= s.compacted:
		return fmt.Errorf("compact: %w", &etcdstore.CompactedError{Requested: rev, Compacted: s.compacted})
	case rev > current:
		return fmt.Errorf("compact: %w", &etcdstore.FutureError{Requested: rev, Current: current})
	}
	s.compacted = rev
	for key, history := range s.keys {
		// Keep the newest version up to rev, unless it is a deletion.
		for len(history) > 1 && history[1].at <= rev || len(history) > 0 && history[0].at <= rev && history[0].kv == nil {
			history = history[1:]
		}
		if len(history) == 0 {
			delete(s.keys, key)
		} else {
			s.keys[key] = slices.Clone(history)
		}
	}
	for s.oldest.next != nil && s.oldest.next.revision < rev {
		s.oldest = s.oldest.next
	}
	return nil
}

// nextLocked returns an empty step after the newest one.
func (s *Store) nextLocked() *step {
	return &step{revision: s.newest.revision + 1, ready: make(chan struct{})}
}

// publishLocked appends a step to the log, unless it is empty, and returns the newest revision.
func (s *Store) publishLocked(next *step) etcdstore.Revision {
	if last := s.newest; len(next.events) > 0 {
		s.newest, last.next = next, next
		close(last.ready)
	}
	return s.newest.revision
}

func (s *Store) putLocked(at *step, key string, value []byte, lease int64) {
	kv := &etcdstore.KV{Key: key, Value: bytes.Clone(value), Created: at.revision, Modified: at.revision, Version: 1, Lease: lease}
	if before := s.nowLocked(key); before != nil {
		kv.Created, kv.Version = before.Created, before.Version+1
	}
	s.writeLocked(at, key, kv)
}

func (s *Store) writeLocked(at *step, key string, kv *etcdstore.KV) {
	at.events = append(at.events, etcdstore.Event{Revision: at.revision, Key: key, KV: kv, Prev: s.nowLocked(key)})
	s.keys[key] = append(s.keys[key], version{at: at.revision, kv: kv})
}

func (s *Store) nowLocked(key string) *etcdstore.KV {
	if history := s.keys[key]; len(history) > 0 {
		return history[len(history)-1].kv
	}
	return nil
}

func (s *Store) atLocked(key string, rev etcdstore.Revision) *etcdstore.KV {
	for _, v := range slices.Backward(s.keys[key]) {
		if v.at <= rev {
			return v.kv
		}
	}
	return nil
}

func check(ctx context.Context, key string) error {
	if key == "" {
		return fmt.Errorf("%w: keys and prefixes must not be empty", etcdstore.ErrInvalid)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%q: %w", key, err)
	}
	return nil
}
