package dbfile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/protobuf/proto"

	"revtail/etcdstore"
	"revtail/etcdstore/readonly"
)

// Store is the content of a file. Values are read when they are asked for. Every write fails with ErrReadOnly, and no lease ends.
type Store struct {
	*readonly.Store

	file   *os.File
	pages  *pages
	index  *index
	counts counts
	info   Info
}

var _ etcdstore.Store = (*Store)(nil)

// Info returns what the file contains.
func (s *Store) Info() Info { return s.info }

// Close ends all watches, and closes the file. Requests fail with ErrClosed afterwards.
func (s *Store) Close() error {
	if s.End() {
		return s.file.Close()
	}
	return nil
}

// find returns the newest state of a key; nil: it does not exist.
func (s *Store) find(_ context.Context, key string) (*etcdstore.KV, error) {
	if place, ok := s.index.find(key); ok {
		if at := s.index.at(place, s.info.Newest); at >= 0 {
			return s.state(at)
		}
	}
	return nil, nil
}

// List implements etcdstore.Store.
func (s *Store) List(ctx context.Context, prefix string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	at, err := s.RevisionOf(ctx, prefix, o)
	if err != nil {
		return etcdstore.Page{}, err
	}
	if at < s.info.Oldest {
		return etcdstore.Page{}, fmt.Errorf("list %q: %w", prefix, &etcdstore.CompactedError{Requested: at, Compacted: s.info.Oldest})
	}
	page := etcdstore.Page{Revision: at}
	first, last := s.keys(prefix, o)
	for key := first; key < last; key++ {
		place := s.index.at(key, page.Revision)
		switch {
		case place < 0:
			continue
		case o.Limit > 0 && len(page.KVs) == o.Limit:
			page.Remaining = s.counts.between(s.index, at, key, last)
			return page, nil
		}
		kv, err := s.state(place)
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

// state reads the state that a change made. A state that cannot be decoded is unreadable, because the others can be read.
func (s *Store) state(place int) (*etcdstore.KV, error) {
	c := s.index.changes[place]
	key := s.index.keys[c.key]
	select {
	case <-s.Closed():
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
