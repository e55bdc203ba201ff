package dbfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"revtail/etcdstore"
)

// index says where the changes of all keys are in the file: 28 bytes for each change, and each key once.
type index struct {
	changes []change // by revision, and within one in the order of the transaction
	keys    []string // in byte order
	first   []uint32 // for each key, and one more: where its changes begin in of
	of      []uint32 // the places in changes of the changes of one key, then of the next one
}

// change is a write of a key.
type change struct {
	revision etcdstore.Revision
	at       int64 // in the file, of the stored state
	key      uint32
	size     uint32 // of the stored state; its highest bit: the key was deleted
}

const (
	deleted    = 1 << 31
	maxChanges = 1<<32 - 1
)

func (c change) isDelete() bool { return c.size&deleted != 0 }

// revisionLength is the length of a revision as a key of the database; the mark of a deletion follows it.
const revisionLength = 8 + 1 + 8

// scan is the reading of all changes.
type scan struct {
	ctx    context.Context
	pages  *pages
	index  index
	ids    map[string]uint32
	newest etcdstore.Revision
}

// readChanges reads all changes of the bucket. With an error, the scan has the changes before the damage.
func readChanges(ctx context.Context, p *pages, b bucket) (*scan, error) {
	s := &scan{ctx: ctx, pages: p, ids: make(map[string]uint32)}
	return s, p.walk(b, s.add)
}

// headLength is how much of a stored state is read to learn its key.
const headLength = 512

// add reads one change.
func (s *scan) add(of item) error {
	if len(s.index.changes)%4096 == 0 {
		if err := s.ctx.Err(); err != nil {
			return err
		}
	}
	if len(of.key) != revisionLength && (len(of.key) != revisionLength+1 || of.key[revisionLength] != 't') || of.size >= deleted {
		return fmt.Errorf("the revision %x is damaged", of.key)
	}
	if len(s.index.changes) == maxChanges {
		return errors.New("it has more changes than this program can read")
	}
	revision := etcdstore.Revision(binary.BigEndian.Uint64(of.key)) //nolint:gosec // checked below
	if revision <= 0 || revision < s.newest {
		return fmt.Errorf("the revision %x is damaged", of.key)
	}
	key, err := s.key(of)
	if err != nil {
		return fmt.Errorf("the change at revision %d is damaged: %w", revision, err)
	}
	s.newest = revision
	if len(key) == 0 { // a restore with a higher revision leaves a change without a key
		return nil
	}
	c := change{revision: revision, at: of.page.at + of.from, key: s.id(key), size: uint32(of.size)} //nolint:gosec // below deleted
	if len(of.key) > revisionLength {
		c.size |= deleted
	}
	s.index.changes = append(s.index.changes, c)
	return nil
}

// key returns the key in a stored state, which is its first field.
func (s *scan) key(of item) ([]byte, error) {
	if of.size == 0 {
		return nil, nil
	}
	for limit := int64(headLength); ; limit = of.size {
		head, err := s.pages.value(of, limit)
		if err != nil {
			return nil, err
		}
		key, whole, err := keyOf(head, of.size)
		if err != nil || whole {
			return key, err
		}
	}
}

// keyOf returns the key in the first bytes of a stored state of a size. Not whole: more bytes are needed.
func keyOf(head []byte, size int64) (key []byte, whole bool, err error) {
	if head[0] != 1<<3|2 { // the state has no key
		return nil, true, nil
	}
	length, n := binary.Uvarint(head[1:])
	switch {
	case n <= 0, length > uint64(size): //nolint:gosec // a size
		return nil, true, errors.New("its key has no end")
	case 1+n+int(length) > len(head) && int64(len(head)) == size: //nolint:gosec // below size
		return nil, true, errors.New("its key has no end")
	case 1+n+int(length) > len(head): //nolint:gosec // below size
		return nil, false, nil
	}
	return head[1+n : 1+n+int(length)], true, nil //nolint:gosec // below size
}

func (s *scan) id(key []byte) uint32 {
	if id, ok := s.ids[string(key)]; ok {
		return id
	}
	id := uint32(len(s.index.keys)) //nolint:gosec // there are not more keys than changes
	s.index.keys = append(s.index.keys, string(key))
	s.ids[s.index.keys[id]] = id
	return id
}

// truncate drops the changes from a revision on.
func (s *scan) truncate(from etcdstore.Revision) {
	n, _ := slices.BinarySearchFunc(s.index.changes, from, func(c change, r etcdstore.Revision) int { return int(c.revision - r) })
	s.index.changes, s.newest = s.index.changes[:n], from-1
}

// finish sorts the keys, and returns the index.
func (s *scan) finish() *index {
	x := &s.index
	s.ids = nil
	order := make([]uint32, len(x.keys)) // from the place in byte order to the id
	for i := range order {
		order[i] = uint32(i) //nolint:gosec // a number of keys
	}
	slices.SortFunc(order, func(a, b uint32) int { return strings.Compare(x.keys[a], x.keys[b]) })
	keys, place := make([]string, len(order)), make([]uint32, len(order))
	for i, id := range order {
		keys[i], place[id] = x.keys[id], uint32(i) //nolint:gosec // a number of keys
	}
	x.keys, x.changes = keys, slices.Clip(x.changes)
	x.first = make([]uint32, len(keys)+1)
	for i := range x.changes {
		x.changes[i].key = place[x.changes[i].key]
		x.first[x.changes[i].key+1]++
	}
	for i := range keys {
		x.first[i+1] += x.first[i]
	}
	next := slices.Clone(x.first)
	x.of = make([]uint32, len(x.changes))
	for i, c := range x.changes {
		x.of[next[c.key]] = uint32(i) //nolint:gosec // at most maxChanges
		next[c.key]++
	}
	return x
}

// history returns the places of the changes of a key.
func (x *index) history(key int) []uint32 { return x.of[x.first[key]:x.first[key+1]] }

// at returns the place of the change that made the state of a key at a revision; negative: the key did not exist.
func (x *index) at(key int, revision etcdstore.Revision) int {
	history := x.history(key)
	n := len(history)
	if n > 0 && x.changes[history[n-1]].revision > revision {
		n = sort.Search(n, func(i int) bool { return x.changes[history[i]].revision > revision })
	}
	if n == 0 || x.changes[history[n-1]].isDelete() {
		return -1
	}
	return int(history[n-1])
}

// before returns the place of the change of the same key before a change; negative: the key did not exist, or that change is not stored.
func (x *index) before(place int) int {
	history := x.history(int(x.changes[place].key))
	i, _ := slices.BinarySearch(history, uint32(place)) //nolint:gosec // a place
	if i == 0 || x.changes[history[i-1]].isDelete() {
		return -1
	}
	return int(history[i-1])
}

// find returns the place of a key.
func (x *index) find(key string) (int, bool) { return slices.BinarySearch(x.keys, key) }

// after returns the place of the first change after a revision.
func (x *index) after(revision etcdstore.Revision) int {
	return sort.Search(len(x.changes), func(i int) bool { return x.changes[i].revision > revision })
}

// live returns the number of keys that exist at the end.
func (x *index) live() (n int) {
	for key := range x.keys {
		if history := x.history(key); len(history) > 0 && !x.changes[history[len(history)-1]].isDelete() {
			n++
		}
	}
	return n
}

// readMeta returns the compacted revision and the version of the format.
func readMeta(p *pages, b bucket) (compacted etcdstore.Revision, version string, err error) {
	err = p.walk(b, func(of item) error {
		value, failed := p.value(of, headLength)
		switch {
		case failed != nil:
			return failed
		case bytes.Equal(of.key, []byte("storageVersion")):
			version = string(value)
		case len(value) >= revisionLength && (bytes.Equal(of.key, []byte("scheduledCompactRev")) || bytes.Equal(of.key, []byte("finishedCompactRev"))):
			compacted = max(compacted, etcdstore.Revision(binary.BigEndian.Uint64(value))) //nolint:gosec // revisions are positive
		}
		return nil
	})
	return compacted, version, err
}
