package archive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"revtail/etcdstore"
	"revtail/etcdstore/journal"
	"revtail/etcdstore/readonly"
)

// ErrReadOnly is the error of every write.
var ErrReadOnly = errors.New("the store is a journal, and is only read")

// Store is the content of a journal. Keys that it does not record do not exist, and a value that it does not keep is nil. The state of a prefix that is recorded
// to an earlier revision than others is the last one that is known. Every write fails with ErrReadOnly, and no lease ends.
type Store struct {
	*readonly.Store

	journal   *journal.Journal
	temporary string // a directory that Close removes; empty: none
	history   uint64
	ranges    []journal.Range // of which no two have the same keys
	info      Info
}

var _ etcdstore.Store = (*Store)(nil)

// Info returns what the journal has.
func (s *Store) Info() Info { return s.info }

// Close ends all watches, closes the journal, and removes what was imported. No request may run, or follow.
func (s *Store) Close() (err error) {
	if !s.End() {
		return nil
	}
	if s.journal != nil {
		err = s.journal.Close()
	}
	if s.temporary != "" {
		err = errors.Join(err, os.RemoveAll(s.temporary))
	}
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

// List implements etcdstore.Store.
func (s *Store) List(ctx context.Context, prefix string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	at, err := s.RevisionOf(ctx, prefix, o)
	if err != nil {
		return etcdstore.Page{}, err
	}
	page := etcdstore.Page{Revision: at}
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

// find returns the newest state of a key; nil: it does not exist.
func (s *Store) find(ctx context.Context, key string) (*etcdstore.KV, error) {
	page, err := s.List(ctx, key, etcdstore.ListOptions{Exact: true})
	if err != nil || len(page.KVs) == 0 {
		return nil, err
	}
	return &page.KVs[0], nil
}
