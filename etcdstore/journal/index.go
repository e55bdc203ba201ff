package journal

import (
	"fmt"
	"iter"

	"github.com/cockroachdb/pebble/v2"

	"revtail/etcdstore"
)

// indexKey returns the key that says that an etcd key has entries. It needs no end: nothing follows the etcd key.
func indexKey(number uint32, key string) []byte { return append(head(indexKind, number), key...) }

// keys yields the keys of a list that the journal has at any revision. The consumer may use the reader.
func (r *reader) keys(prefix string, o etcdstore.ListOptions) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if o.Exact {
			if prefix > o.After {
				yield(prefix, nil)
			}
			return
		}
		from := indexKey(r.number, prefix)
		bounds := &pebble.IterOptions{LowerBound: from, UpperBound: prefixEnd(from)}
		if o.After >= prefix && o.After != "" {
			from = append(indexKey(r.number, o.After), 0)
		}
		it, err := r.states.Clone(pebble.CloneOptions{IterOptions: bounds}) // as of the same moment
		if err != nil {
			yield("", err)
			return
		}
		defer func() { _ = it.Close() }()
		for ok := it.SeekGE(from); ok; ok = it.Next() {
			if !yield(string(it.Key()[headSize:]), nil) {
				return
			}
		}
		if err := it.Error(); err != nil {
			yield("", err)
		}
	}
}

// indexBatch is how many keys one batch of a new index has.
const indexBatch = 10_000

// addIndexes writes the index of keys of those ranges that an earlier version wrote without one.
func (j *Journal) addIndexes() error {
	for _, r := range j.Ranges() {
		if r.Indexed {
			continue
		}
		j.logger.Info("the journal gets an index of keys", "prefix", r.Prefix)
		n, err := j.addIndex(r)
		if err != nil {
			return fmt.Errorf("the index of keys: %w", err)
		}
		j.logger.Info("the journal has an index of keys", "prefix", r.Prefix, "keys", n)
	}
	return nil
}

// addIndex writes the index of a range. The range is marked with the last batch: after a crash the index is written anew.
func (j *Journal) addIndex(known Range) (n int, err error) {
	r, err := j.newReader(known.Number)
	if err != nil {
		return 0, err
	}
	defer r.close()
	b := j.db.NewBatch()
	defer func() { _ = b.Close() }()
	if err := b.DeleteRange(head(indexKind, known.Number), head(indexKind, known.Number+1), nil); err != nil {
		return 0, err
	}
	from, bound := head(stateKind, known.Number), head(stateKind, known.Number+1)
	for ; ; n++ {
		key, err := r.next(from, bound)
		if err != nil {
			return n, err
		}
		if key == nil {
			break
		}
		if err := b.Set(indexKey(known.Number, *key), nil, nil); err != nil {
			return n, err
		}
		from = afterKey(known.Number, *key)
		if n%indexBatch < indexBatch-1 {
			continue
		}
		if err := b.Commit(pebble.NoSync); err != nil {
			return n, err
		}
		j.logger.Info("the index of keys is written", "prefix", known.Prefix, "keys", n+1)
		b.Reset()
	}
	known.Indexed = true
	return n, j.commit(b, known, pebble.Sync)
}

// next returns the first key that has an entry at from or later; nil: there is none before the bound.
func (r *reader) next(from, bound []byte) (*string, error) {
	if !r.states.SeekGE(from) {
		return nil, r.states.Error()
	}
	if string(r.states.Key()) >= string(bound) {
		return nil, nil
	}
	key, _, err := parseStateKey(r.states.Key())
	return &key, err
}
