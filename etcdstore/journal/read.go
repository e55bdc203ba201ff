package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"revtail/etcdstore"
	"revtail/etcdstore/journal/delta"
)

// newest is greater than every revision.
const newest = etcdstore.Revision(math.MaxInt64)

// reader reads the database as of one moment. It is for one goroutine, which closes it.
type reader struct {
	number uint32 // of the range
	states *pebble.Iterator

	omitted bool // a value that is not kept is read as none; otherwise it is ErrUnknown

	buffers
}

// buffers are memory that a reader uses again for each value.
type buffers struct {
	name        []byte    // with which the keys of the entries of the key begin
	differences []byte    // of a value, the last one first
	offsets     []int     // of the differences
	values      [2][]byte // of the state before a difference, and after it
}

func (j *Journal) newReader(number uint32) (*reader, error) {
	it, err := j.reads.NewIter(&pebble.IterOptions{LowerBound: head(stateKind, number), UpperBound: head(stateKind, number+1)})
	if err != nil {
		return nil, err
	}
	return &reader{number: number, states: it}, nil
}

// clone returns a reader as of the same moment, for another goroutine.
func (r *reader) clone() (*reader, error) {
	it, err := r.states.Clone(pebble.CloneOptions{})
	if err != nil {
		return nil, err
	}
	own := *r
	own.states, own.buffers = it, buffers{}
	return &own, nil
}

func (r *reader) close() { _ = r.states.Close() } // its errors are those of the reads

// found is an entry and its revision. Its value belongs to the iterator.
type found struct {
	entry
	revision etcdstore.Revision
}

// find returns the state of a key at a revision; nil: the journal has none.
func (r *reader) find(key string, at etcdstore.Revision) (*found, error) {
	r.name = appendStateName(r.name[:0], r.number, key)
	bound := binary.BigEndian.AppendUint64(r.name, uint64(at)+1)
	if r.states.SeekLTWithLimit(bound, r.name) != pebble.IterValid { // the limit keeps it from reading what was deleted of the keys before
		return nil, r.states.Error()
	}
	return r.current(key)
}

// current returns the entry under the iterator, if it is one of the key, which find has searched.
func (r *reader) current(key string) (*found, error) {
	rest, ok := bytes.CutPrefix(r.states.Key(), r.name)
	if !ok || len(rest) != 8 {
		return nil, nil
	}
	revision := etcdstore.Revision(binary.BigEndian.Uint64(rest))
	e, err := parseEntry(r.states.Value())
	if err != nil {
		return nil, damagedError(key, revision, err)
	}
	return &found{e, revision}, nil
}

// value returns the value of an entry, under which the iterator is. The caller may keep it.
func (r *reader) value(key string, f found) ([]byte, error) {
	switch {
	case f.omitted && r.omitted:
		return nil, nil
	case f.omitted:
		return nil, ErrUnknown
	case f.depth == 0:
		return bytes.Clone(f.value), nil
	}
	whole, err := r.readDifferences(key, f)
	if err != nil {
		return nil, err
	}
	value, end := append(r.values[0][:0], whole...), len(r.differences)
	for _, start := range slices.Backward(r.offsets) {
		next, err := delta.AppendValue(r.values[1][:0], value, r.differences[start:end])
		if err != nil {
			return nil, damagedError(key, f.revision, err)
		}
		r.values[1], value, end = value, next, start
	}
	r.values[0] = value
	return bytes.Clone(value), nil
}

// readDifferences reads the differences from an entry, under which the iterator is, back to a whole value, which it returns. That belongs to the iterator.
func (r *reader) readDifferences(key string, f found) (whole []byte, err error) {
	r.differences, r.offsets = r.differences[:0], r.offsets[:0]
	for revision := f.revision; f.depth > 0; {
		r.offsets, r.differences = append(r.offsets, len(r.differences)), append(r.differences, f.value...)
		if !r.states.Prev() {
			return nil, errors.Join(damagedError(key, revision, errEntry), r.states.Error())
		}
		before, err := r.current(key)
		if err != nil {
			return nil, err
		}
		if before == nil || before.deleted || before.depth != f.depth-1 {
			return nil, damagedError(key, revision, errEntry)
		}
		f = *before
	}
	return f.value, nil
}

// kv returns the state of a key at a revision; nil: it does not exist.
func (r *reader) kv(key string, at etcdstore.Revision, keysOnly bool) (*etcdstore.KV, error) {
	f, err := r.find(key, at)
	if err != nil || f == nil || f.deleted {
		return nil, err
	}
	out := &etcdstore.KV{Key: key, Created: f.created, Modified: f.revision, Version: f.version, Lease: f.lease}
	if !keysOnly {
		out.Value, err = r.value(key, *f)
	}
	return out, err
}

// ErrUnknown is the error of reads for a revision of the keys that the journal does not have.
var ErrUnknown = errors.New("the journal does not have this revision")

// count returns how many keys with a prefix exist at a revision.
func (r *reader) count(prefix string, at etcdstore.Revision) (n int, err error) {
	for key, err := range r.keys(prefix, etcdstore.ListOptions{}) {
		if err != nil {
			return 0, err
		}
		f, err := r.find(key, at)
		if err != nil {
			return 0, err
		}
		if f != nil && !f.deleted {
			n++
		}
	}
	return n, nil
}

// prefixEnd returns the least bytes that are greater than all with a prefix.
func prefixEnd(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return end
}
