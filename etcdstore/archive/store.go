package archive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/journal"
)

// ErrReadOnly is the error of every write.
var ErrReadOnly = errors.New("the store is a journal, and is only read")

// Store is the content of a journal. Keys that it does not record do not exist, and a value that it does not keep is nil. The state of a prefix that is recorded
// to an earlier revision than others is the last one that is known. Every write fails with ErrReadOnly, and no lease ends.
type Store struct {
	journal   *journal.Journal
	temporary string // a directory that Close removes; empty: none
	ranges    []journal.Range
	info      Info
	closing   sync.Once
	closed    chan struct{}
}

var _ etcdstore.Store = (*Store)(nil)

// Info returns what the journal has.
func (s *Store) Info() Info { return s.info }

// Close ends all watches, closes the journal, and removes what was imported. No request may run, or follow.
func (s *Store) Close() (err error) {
	s.closing.Do(func() {
		close(s.closed)
		if s.journal != nil {
			err = s.journal.Close()
		}
		if s.temporary != "" {
			err = errors.Join(err, os.RemoveAll(s.temporary))
		}
	})
	return err
}

// part is what a range has of the keys with a prefix.
type part struct {
	journal.Range

	within string // prefix of the keys
}

// parts returns the parts of the keys with a prefix, in the order of their keys.
func (s *Store) parts(prefix string, exact bool) (out []part) {
	for _, r := range s.ranges {
		switch {
		case strings.HasPrefix(prefix, r.Prefix):
			out = append(out, part{r, prefix})
		case !exact && strings.HasPrefix(r.Prefix, prefix):
			out = append(out, part{r, r.Prefix})
		}
	}
	return out
}

// Get implements etcdstore.Store.
func (s *Store) Get(ctx context.Context, key string) (etcdstore.KV, etcdstore.Revision, error) {
	page, err := s.List(ctx, key, etcdstore.ListOptions{Exact: true})
	switch {
	case err != nil:
		return etcdstore.KV{}, 0, err
	case len(page.KVs) == 0:
		return etcdstore.KV{}, page.Revision, fmt.Errorf("get %q: %w", key, etcdstore.ErrNotFound)
	}
	return page.KVs[0], page.Revision, nil
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
	}
	for _, p := range s.parts(prefix, o.Exact) {
		narrowed, full := o, o.Limit > 0 && len(page.KVs) >= o.Limit
		if narrowed.Limit -= len(page.KVs); full {
			narrowed.Limit, narrowed.KeysOnly = 1, true // to be counted
		}
		found, err := s.list(ctx, p, page.Revision, narrowed)
		if err != nil {
			return etcdstore.Page{}, fmt.Errorf("list %q: %w", prefix, err)
		}
		if page.Remaining += found.Remaining; full {
			page.Remaining += int64(len(found.KVs))
		} else {
			page.KVs = append(page.KVs, found.KVs...)
		}
	}
	return page, nil
}

// list lists a part at a revision.
func (s *Store) list(ctx context.Context, p part, at etcdstore.Revision, o etcdstore.ListOptions) (etcdstore.Page, error) {
	o.At = min(at, p.Through)
	page, err := s.journal.ListRecorded(ctx, p.History, p.within, o)
	if errors.Is(err, journal.ErrUnknown) {
		err = &etcdstore.CompactedError{Requested: at, Compacted: p.Oldest}
	}
	return page, err
}

// Revision implements etcdstore.Store.
func (s *Store) Revision(ctx context.Context) (etcdstore.Revision, error) {
	return s.info.Newest, ctx.Err()
}

// History implements etcdstore.Store. There is only one history.
func (s *Store) History() uint64 { return 1 }

// Former implements etcdstore.Store.
func (s *Store) Former() etcdstore.Revision { return 0 }

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

// Transact implements etcdstore.Store. A transaction that only reads is executed at the newest revision.
func (s *Store) Transact(ctx context.Context, t etcdstore.Txn) (etcdstore.TxnResult, error) {
	if err := t.Check(); err != nil {
		return etcdstore.TxnResult{}, err
	}
	if slices.ContainsFunc(slices.Concat(t.Then, t.Else), func(op etcdstore.Op) bool { return op.Verb != etcdstore.Get }) {
		return etcdstore.TxnResult{}, fmt.Errorf("transaction: %w", ErrReadOnly)
	}
	out, ops := etcdstore.TxnResult{Succeeded: true, Revision: s.info.Newest}, t.Then
	for _, c := range t.If {
		kv, err := s.find(ctx, c.Key)
		if err != nil {
			return etcdstore.TxnResult{}, err
		}
		if !c.Holds(kv) {
			out.Succeeded, ops = false, t.Else
		}
	}
	for _, op := range ops {
		kv, err := s.find(ctx, op.Key)
		if err != nil {
			return etcdstore.TxnResult{}, err
		}
		out.Results = append(out.Results, etcdstore.OpResult{KV: kv})
	}
	return out, nil
}

// find returns the newest state of a key; nil: it does not exist.
func (s *Store) find(ctx context.Context, key string) (*etcdstore.KV, error) {
	kv, _, err := s.Get(ctx, key)
	if errors.Is(err, etcdstore.ErrNotFound) {
		return nil, nil
	}
	return &kv, err
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

func refuse(ctx context.Context, verb, key string) (etcdstore.Revision, error) {
	if err := check(ctx, key); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("%s %q: %w", verb, key, ErrReadOnly)
}

// Grant implements etcdstore.Store.
func (*Store) Grant(context.Context, time.Duration) (lease int64, granted time.Duration, err error) {
	return 0, 0, fmt.Errorf("lease: %w", ErrReadOnly)
}

// Revoke implements etcdstore.Store.
func (*Store) Revoke(context.Context, int64) error { return fmt.Errorf("lease: %w", ErrReadOnly) }
