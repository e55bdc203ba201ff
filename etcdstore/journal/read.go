package journal

import (
	"context"
	"errors"
	"iter"
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

	omitted bool // a value that is not kept is read as none; otherwise it is errUnknown
}

func (j *Journal) newReader(number uint32) (*reader, error) {
	it, err := j.db.NewIter(&pebble.IterOptions{LowerBound: head(stateKind, number), UpperBound: head(stateKind, number+1)})
	if err != nil {
		return nil, err
	}
	return &reader{number: number, states: it}, nil
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
		return nil, errUnknown
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

// next returns the first key after the entries of another one, or after a prefix; empty: there is none before the bound.
func (r *reader) next(from, bound []byte) (string, error) {
	if !r.states.SeekGE(from) {
		return "", r.states.Error()
	}
	if string(r.states.Key()) >= string(bound) {
		return "", nil
	}
	key, _, err := parseStateKey(r.states.Key())
	return key, err
}

// errUnknown says that the journal does not have a revision of the keys.
var errUnknown = errors.New("the journal does not have this revision")

// List lists as etcdstore.Store does. o.At must not be zero. The error is errUnknown if the journal does not have the revision.
func (j *Journal) List(ctx context.Context, history uint64, prefix string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	known, ok := j.rangeOf(history, prefix)
	if !ok || !known.has(o.At) {
		return etcdstore.Page{}, errUnknown
	}
	r, err := j.newReader(known.Number)
	if err != nil {
		return etcdstore.Page{}, err
	}
	defer r.close()
	page := etcdstore.Page{Revision: o.At}
	for key, err := range r.keys(prefix, o) {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return etcdstore.Page{}, err
		}
		full := o.Limit > 0 && len(page.KVs) == o.Limit
		kv, err := r.kv(key, o.At, o.KeysOnly || full)
		switch {
		case err != nil:
			return etcdstore.Page{}, err
		case kv == nil:
		case full:
			page.Remaining++
		default:
			page.KVs = append(page.KVs, *kv)
		}
	}
	// It may have been pruned meanwhile.
	if again, ok := j.rangeOf(history, prefix); !ok || !again.has(o.At) {
		return etcdstore.Page{}, errUnknown
	}
	return page, nil
}

// keys yields the keys of a list that the journal has at any revision. The consumer may use the reader.
func (r *reader) keys(prefix string, o etcdstore.ListOptions) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if o.Exact {
			if prefix > o.After {
				yield(prefix, nil)
			}
			return
		}
		from, bound := statePrefix(r.number, prefix), prefixEnd(statePrefix(r.number, prefix))
		if o.After >= prefix && o.After != "" {
			from = afterKey(r.number, o.After)
		}
		for {
			key, err := r.next(from, bound)
			if err != nil || key == "" {
				if err != nil {
					yield("", err)
				}
				return
			}
			if !yield(key, nil) {
				return
			}
			from = afterKey(r.number, key)
		}
	}
}

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
