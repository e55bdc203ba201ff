package dbfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"

	"revtail/etcdstore"
)

// Store is the content of a file. Values are read when they are asked for. Every write fails with ErrReadOnly, and no lease ends.
type Store struct {
	file    *os.File
	pages   *pages
	index   *index
	info    Info
	closing sync.Once
	closed  chan struct{}
}

var _ etcdstore.Store = (*Store)(nil)

// Info returns what the file contains.
func (s *Store) Info() Info { return s.info }

// Close ends all watches, and closes the file. Requests fail with ErrClosed afterwards.
func (s *Store) Close() (err error) {
	s.closing.Do(func() {
		close(s.closed)
		err = s.file.Close()
	})
	return err
}

// Get implements etcdstore.Store.
func (s *Store) Get(ctx context.Context, key string) (etcdstore.KV, etcdstore.Revision, error) {
	if err := check(ctx, key); err != nil {
		return etcdstore.KV{}, 0, err
	}
	kv, err := s.get(key)
	switch {
	case err != nil:
		return etcdstore.KV{}, 0, fmt.Errorf("get %q: %w", key, err)
	case kv == nil:
		return etcdstore.KV{}, s.info.Newest, fmt.Errorf("get %q: %w", key, etcdstore.ErrNotFound)
	}
	return *kv, s.info.Newest, nil
}

// get returns the newest state of a key; nil: it does not exist.
func (s *Store) get(key string) (*etcdstore.KV, error) {
	if place, ok := s.index.find(key); ok {
		if at := s.index.at(place, s.info.Newest); at >= 0 {
			return s.state(at)
		}
	}
	return nil, nil
}

// List implements etcdstore.Store.
func (s *Store) List(ctx context.Context, prefix string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	if err := check(ctx, prefix); err != nil {
		return etcdstore.Page{}, err
	}
	page := etcdstore.Page{Revision: o.At}
	switch {
	case o.At < 0 || o.Limit < 0:
		return etcdstore.Page{}, fmt.Errorf("%w: At and Limit must not be negative", etcdstore.ErrInvalid)
	case o.At == 0:
		page.Revision = s.info.Newest
	case o.At > s.info.Newest:
		return etcdstore.Page{}, fmt.Errorf("list %q: %w", prefix, &etcdstore.FutureError{Requested: o.At, Current: s.info.Newest})
	case o.At < s.info.Oldest:
		return etcdstore.Page{}, fmt.Errorf("list %q: %w", prefix, &etcdstore.CompactedError{Requested: o.At, Compacted: s.info.Oldest})
	}
	first, last := s.keys(prefix, o)
	for key := first; key < last; key++ {
		at := s.index.at(key, page.Revision)
		switch {
		case at < 0:
			continue
		case o.Limit > 0 && len(page.KVs) == o.Limit:
			page.Remaining++
			continue
		}
		kv, err := s.state(at)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return etcdstore.Page{}, fmt.Errorf("list %q: %w", prefix, err)
		}
		if o.KeysOnly {
			kv.Value = nil
		}
		page.KVs = append(page.KVs, *kv)
	}
	return page, nil
}

// keys returns the places of the keys of a list: from the first one to before the last one.
func (s *Store) keys(prefix string, o etcdstore.ListOptions) (first, last int) {
	first, found := s.index.find(max(prefix, o.After))
	if found && o.After >= prefix {
		first++
	}
	if o.Exact {
		last, found = s.index.find(prefix)
		if found {
			last++
		}
		return first, last
	}
	n, _ := slices.BinarySearchFunc(s.index.keys[first:], prefix, func(key, prefix string) int {
		if strings.HasPrefix(key, prefix) {
			return -1
		}
		return 1 // keys before the prefix are before first
	})
	return first, first + n
}

// Revision implements etcdstore.Store.
func (s *Store) Revision(ctx context.Context) (etcdstore.Revision, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("revision: %w", err)
	}
	return s.info.Newest, nil
}

// History implements etcdstore.Store. There is only one history.
func (s *Store) History() uint64 { return 1 }

// Former implements etcdstore.Store.
func (s *Store) Former() etcdstore.Revision { return 0 }

// state reads the state that a change made. A state that cannot be decoded is unreadable, because the others can be read.
func (s *Store) state(place int) (*etcdstore.KV, error) {
	c := s.index.changes[place]
	key := s.index.keys[c.key]
	select {
	case <-s.closed:
		return nil, etcdstore.ErrClosed
	default:
	}
	stored, err := s.pages.readAt(c.at, int64(c.size&^deleted))
	if errors.Is(err, os.ErrClosed) {
		return nil, etcdstore.ErrClosed
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the file cannot be read: %w", etcdstore.ErrUnavailable, err)
	}
	var kv mvccpb.KeyValue
	if err := proto.Unmarshal(stored, &kv); err != nil || string(kv.GetKey()) != key || etcdstore.Revision(kv.GetModRevision()) != c.revision {
		damaged := fmt.Errorf("the value of the key %q at revision %d is damaged in the file", key, c.revision)
		unreadable := &etcdstore.UnreadableError{Key: key, Err: damaged}
		return &etcdstore.KV{Key: key, Created: c.revision, Modified: c.revision, Version: 1, Unreadable: unreadable}, nil //nolint:nilerr // the others can be read
	}
	return &etcdstore.KV{
		Key: key, Value: kv.GetValue(), Created: etcdstore.Revision(kv.GetCreateRevision()), Modified: c.revision,
		Version: kv.GetVersion(), Lease: kv.GetLease(),
	}, nil
}

// check refuses what etcd would take for all keys, and ended contexts.
func check(ctx context.Context, key string) error {
	if key == "" {
		return fmt.Errorf("%w: keys and prefixes must not be empty", etcdstore.ErrInvalid)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%q: %w", key, err)
	}
	return nil
}

// Create implements etcdstore.Store.
func (s *Store) Create(ctx context.Context, key string, _ []byte) (etcdstore.Revision, error) {
	return refuse(ctx, "create", key)
}

// CreateGuarded implements etcdstore.Store.
func (s *Store) CreateGuarded(ctx context.Context, key string, _ []byte, _ etcdstore.Guard) (etcdstore.Revision, error) {
	return refuse(ctx, "create", key)
}

// Update implements etcdstore.Store.
func (s *Store) Update(ctx context.Context, key string, _ []byte, _ etcdstore.Revision) (etcdstore.Revision, error) {
	return refuse(ctx, "update", key)
}

// Delete implements etcdstore.Store.
func (s *Store) Delete(ctx context.Context, key string, _ etcdstore.Revision) (etcdstore.Revision, error) {
	return refuse(ctx, "delete", key)
}

// Grant implements etcdstore.Store.
func (s *Store) Grant(context.Context, time.Duration) (lease int64, granted time.Duration, err error) {
	return 0, 0, fmt.Errorf("lease: %w", ErrReadOnly)
}

// Revoke implements etcdstore.Store.
func (s *Store) Revoke(context.Context, int64) error { return fmt.Errorf("lease: %w", ErrReadOnly) }

func refuse(ctx context.Context, verb, key string) (etcdstore.Revision, error) {
	if err := check(ctx, key); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("%s %q: %w", verb, key, ErrReadOnly)
}

// Transact implements etcdstore.Store. A transaction that only reads is executed at the newest revision.
func (s *Store) Transact(ctx context.Context, t etcdstore.Txn) (etcdstore.TxnResult, error) {
	if err := ctx.Err(); err != nil {
		return etcdstore.TxnResult{}, fmt.Errorf("transaction: %w", err)
	}
	if err := t.Check(); err != nil {
		return etcdstore.TxnResult{}, err
	}
	if slices.ContainsFunc(slices.Concat(t.Then, t.Else), func(op etcdstore.Op) bool { return op.Verb != etcdstore.Get }) {
		return etcdstore.TxnResult{}, fmt.Errorf("transaction: %w", ErrReadOnly)
	}
	out, ops := etcdstore.TxnResult{Succeeded: true, Revision: s.info.Newest}, t.Then
	for _, c := range t.If {
		kv, err := s.get(c.Key)
		if err != nil {
			return etcdstore.TxnResult{}, fmt.Errorf("transaction: %w", err)
		}
		if !c.Holds(kv) {
			out.Succeeded, ops = false, t.Else
		}
	}
	for _, op := range ops {
		kv, err := s.get(op.Key)
		if err != nil {
			return etcdstore.TxnResult{}, fmt.Errorf("transaction: %w", err)
		}
		out.Results = append(out.Results, etcdstore.OpResult{KV: kv})
	}
	return out, nil
}
