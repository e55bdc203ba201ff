package journal

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"revtail/etcdstore"
)

// Range is what is known of the keys with a prefix in one history of the etcd.
type Range struct {
	Number  uint32             `json:"number"` // in the keys of the database
	Prefix  string             `json:"prefix"`
	History uint64             `json:"history"`          // of the etcd: see etcdstore.Store.History
	Oldest  etcdstore.Revision `json:"oldest"`           // that can be read
	Through etcdstore.Revision `json:"through"`          // later events have not arrived; zero: the range has not begun
	Except  []string           `json:"except,omitempty"` // prefixes of those of its keys that are not recorded
	Gaps    []Gap              `json:"gaps,omitempty"`
	Indexed bool               `json:"indexed,omitempty"` // it has an index of keys: those of an earlier version have none
	Former  bool               `json:"former,omitempty"`  // the etcd has another history now: nothing is added or read
	Ended   bool               `json:"ended,omitempty"`   // the prefix is no longer recorded: nothing is added
	// Beginning says that states after Through are written, or were, by a Begin that failed.
	Beginning bool `json:"beginning,omitempty"`
}

// Gap is a part of the history that the journal lacks: etcd compacted the events after After before they arrived. The state at Until is
// known again.
type Gap struct {
	After etcdstore.Revision `json:"after"`
	Until etcdstore.Revision `json:"until"`
}

// Has reports whether the state at a revision is known.
func (r Range) Has(revision etcdstore.Revision) bool {
	if revision < r.Oldest || revision > r.Through {
		return false
	}
	for _, gap := range r.Gaps {
		if revision > gap.After && revision < gap.Until {
			return false
		}
	}
	return true
}

// End returns the revision up to which the events after a revision are known without a gap; false: not even the next one is.
func (r Range) End(after etcdstore.Revision) (etcdstore.Revision, bool) {
	for _, gap := range r.Gaps {
		if after < gap.Until {
			return gap.After, after < gap.After
		}
	}
	return r.Through, after >= r.Oldest
}

// Records reports whether all keys with a prefix are recorded.
func (r Range) Records(prefix string) bool {
	return strings.HasPrefix(prefix, r.Prefix) && !slices.ContainsFunc(r.Except, func(except string) bool {
		return strings.HasPrefix(prefix, except) || strings.HasPrefix(except, prefix)
	})
}

// readable reports whether the range can be read in a history.
func (r Range) readable(history uint64) bool {
	return !r.Former && r.Through > 0 && r.History == history
}

// Continues reports whether events can be added.
func (r Range) Continues() bool { return !r.Former && !r.Ended }

func (j *Journal) loadRanges() error {
	it, err := j.reads.NewIter(&pebble.IterOptions{LowerBound: []byte{rangeKind}, UpperBound: []byte{rangeKind + 1}})
	if err != nil {
		return err
	}
	defer func() { _ = it.Close() }()
	for ok := it.First(); ok; ok = it.Next() {
		var r Range
		if err := json.Unmarshal(it.Value(), &r); err != nil {
			return err
		}
		if r.Through, err = j.through(r); err != nil {
			return err
		}
		j.ranges[r.Number] = r
	}
	return it.Error()
}

// Ranges returns all ranges, also those of former histories, in the order in which they began.
func (j *Journal) Ranges() []Range {
	j.mu.RLock()
	defer j.mu.RUnlock()
	out := make([]Range, 0, len(j.ranges))
	for number := uint32(1); len(out) < len(j.ranges); number++ {
		if r, ok := j.ranges[number]; ok {
			out = append(out, r)
		}
	}
	return out
}

// newRange returns a range with a number of its own.
func (j *Journal) newRange(prefix string, except []string) Range {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.numbers++
	for j.ranges[j.numbers].Number != 0 {
		j.numbers++
	}
	return Range{Number: j.numbers, Prefix: prefix, Except: except, Indexed: true}
}

// through returns the newest revision of a range.
func (j *Journal) through(r Range) (etcdstore.Revision, error) {
	value, closer, err := j.reads.Get(head(newestKind, r.Number))
	if errors.Is(err, pebble.ErrNotFound) {
		return r.Through, nil
	}
	if err != nil {
		return 0, err
	}
	revision, n := binary.Uvarint(value)
	if n <= 0 {
		err = errEntry
	}
	return max(r.Through, etcdstore.Revision(revision)), errors.Join(err, closer.Close())
}

// end makes a range a former one.
func (j *Journal) end(r Range) error {
	r.Former = true
	return j.mark(r)
}

func (j *Journal) mark(r Range) error {
	b := j.db.NewBatch()
	return errors.Join(j.commit(b, r, pebble.Sync), b.Close())
}

// commit writes a batch with the new state of a range, and then shows it. A batch is whole after a crash, or missing.
func (j *Journal) commit(b *pebble.Batch, r Range, o *pebble.WriteOptions) error {
	text, err := json.Marshal(r)
	if err == nil {
		err = b.Set(head(rangeKind, r.Number), text, nil)
	}
	if err != nil {
		return fmt.Errorf("writing to the journal: %w", err)
	}
	return j.advance(b, r, o)
}

// advance writes a batch with the newest revision of a range, which alone has changed, and then shows it.
func (j *Journal) advance(b *pebble.Batch, r Range, o *pebble.WriteOptions) error {
	err := b.Set(head(newestKind, r.Number), binary.AppendUvarint(nil, uint64(r.Through)), nil)
	if err == nil {
		err = b.Commit(o)
	}
	if err != nil {
		return fmt.Errorf("writing to the journal: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ranges[r.Number] = r
	return nil
}
