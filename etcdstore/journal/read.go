package journal

import (
	"errors"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"revtail/etcdstore"
)

// newest is greater than every revision.
const newest = etcdstore.Revision(math.MaxInt64)

// reader reads the database as of one moment. It is for one goroutine, which closes it.
type reader struct {
	number uint32 // of the range
	states *pebble.Iterator

	omitted bool // a value that is not kept is read as none; otherwise it is ErrUnknown
}

func (j *Journal) newReader(number uint32) (*reader, error) {
	it, err := j.db.NewIter(&pebble.IterOptions{LowerBound: head(stateKind, number), UpperBound: head(stateKind, number+1)})
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
	own.states = it
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
	bound := afterKey(r.number, key)
	if at < newest {
		bound = stateKey(r.number, key, at+1)
	}
	if !r.states.SeekLT(bound) {
		return nil, r.states.Error()
	}
	return r.current(key)
}

// current returns the entry under the iterator, if it is one of the key.
func (r *reader) current(key string) (*found, error) {
	k, revision, err := parseStateKey(r.states.Key())
	if err != nil || k != key {
		return nil, err
	}
	e, err := parseEntry(r.states.Value())
	if err != nil {
		return nil, damagedError(key, revision, err)
	}
	return &found{e, revision}, nil
}

// value returns the value of an entry, under which the iterator is. The caller may keep it.
func (r *reader) value(key string, f found) ([]byte, error) {
	if f.omitted && r.omitted {
		return nil, nil
	}
	if f.omitted {
		return nil, ErrUnknown
	}
	deltas := make([][]byte, 0, maxDepth)
	for f.depth > 0 {
		deltas = append(deltas, append([]byte(nil), f.value...))
		depth := f.depth
		if !r.states.Prev() {
			return nil, errors.Join(damagedError(key, f.revision, errEntry), r.states.Error())
		}
		before, err := r.current(key)
		if err != nil {
			return nil, err
		}
		if before == nil || before.deleted || before.depth != depth-1 {
			return nil, damagedError(key, f.revision, errEntry)
		}
		f = *before
	}
	value := append([]byte(nil), f.value...)
	for i := len(deltas) - 1; i >= 0; i-- {
		next, err := applyDelta(value, deltas[i])
		if err != nil {
			return nil, damagedError(key, f.revision, err)
		}
		value = next
	}
	return value, nil
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
