package journal

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"revtail/etcdstore"
	"revtail/etcdstore/journal/delta"
)

// Writer writes the events of a range. It is for one goroutine.
type Writer struct {
	journal *Journal
	current Range
	omit    func(key string, value []byte) bool // nil: all values are kept
	differ  delta.Differ
	tails   tails
	bytes   int // of the last step, as it was given to the database
}

// WriterOptions configure a Writer.
type WriterOptions struct {
	Omit   func(key string, value []byte) bool // says which values are not kept; nil: none
	Except []string                            // prefixes of keys that are not recorded: neither the states nor the events that the writer is given have such keys
	Memory int                                 // bound of the memory for values, in bytes; zero, or more than 64 MiB: 64 MiB
}

// Writer returns the writer of the present range of a prefix with the same exceptions. A range that has not begun has Through zero, and needs Begin.
func (j *Journal) Writer(prefix string, o WriterOptions) *Writer {
	if o.Memory == 0 {
		o.Memory = maxTails
	}
	w := &Writer{journal: j, omit: o.Omit, tails: newTails(min(o.Memory, maxTails))}
	for _, r := range j.Ranges() {
		if r.Prefix == prefix && slices.Equal(r.Except, o.Except) && r.Continues() {
			w.current = r
		}
	}
	if w.current.Number == 0 {
		w.current = j.newRange(prefix, o.Except)
	}
	return w
}

// Range returns what is written.
func (w *Writer) Range() Range { return w.current }

// StepSize returns how many bytes the last step that was appended takes, as it was given to the database.
func (w *Writer) StepSize() int { return w.bytes }

// Append writes a step of a watch. The events of the step follow those that are written. They survive a crash after the next Sync.
func (w *Writer) Append(step etcdstore.Batch) (err error) {
	defer w.forgetAfter(&err)
	if step.Through <= w.current.Through {
		return nil
	}
	b := w.journal.db.NewBatch()
	defer func() { _ = b.Close() }()
	arrived := step.Received
	if arrived.IsZero() {
		arrived = time.Now()
	}
	number, index := w.current.Number, 0
	for i, e := range step.Events {
		if index++; i == 0 || step.Events[i-1].Revision != e.Revision {
			index = 0
		}
		if err := errors.Join(w.set(b, e.Key, e.Revision, e.KV), b.Set(eventKey(number, e.Revision, index), eventValue(e.Key, arrived), nil)); err != nil {
			return err
		}
	}
	if n := len(step.Events); n > 0 {
		if err := b.Set(timeKey(number, arrived, step.Events[n-1].Revision), nil, nil); err != nil {
			return err
		}
	}
	w.bytes = b.Len()
	next := w.current
	next.Through = step.Through
	return w.show(next, w.journal.advance(b, next, pebble.NoSync))
}

// set writes the state of a key at a revision; nil: it is deleted.
func (w *Writer) set(b *pebble.Batch, key string, revision etcdstore.Revision, kv *etcdstore.KV) error {
	name := stateKey(w.current.Number, key, revision)
	if _, known := w.tails.byKey[key]; !known { // it may have no entry yet
		if err := b.Set(indexKey(w.current.Number, key), nil, nil); err != nil {
			return err
		}
	}
	if kv == nil {
		w.tails.set(key, tail{none: true})
		return b.Set(name, entry{deleted: true}.encode(), nil)
	}
	e := entry{created: kv.Created, version: kv.Version, lease: kv.Lease}
	if w.omit != nil && w.omit(key, kv.Value) {
		e.omitted = true
		w.tails.set(key, tail{none: true})
		return b.Set(name, e.encode(), nil)
	}
	before, err := w.tail(key)
	if err != nil {
		return err
	}
	e.value = kv.Value
	if before != nil && before.depth < maxDepth {
		if difference := w.differ.Append(nil, before.value, kv.Value); len(difference) < len(kv.Value)*3/4 {
			e.value, e.depth = difference, before.depth+1
		}
	}
	w.tails.set(key, tail{value: kv.Value, depth: e.depth})
	return b.Set(name, e.encode(), nil)
}

// tail returns the newest state of a key; nil: there is none to which the next one can be compared.
func (w *Writer) tail(key string) (*tail, error) {
	if known, ok := w.tails.byKey[key]; ok {
		if known.none {
			return nil, nil
		}
		return &known, nil
	}
	r, err := w.journal.newReader(w.current.Number)
	if err != nil {
		return nil, err
	}
	defer r.close()
	f, err := r.find(key, newest)
	if err != nil || f == nil || f.deleted || f.omitted {
		return nil, err
	}
	depth := f.depth
	value, err := r.value(key, *f)
	return &tail{value: value, depth: depth}, err
}

func (w *Writer) commit(b *pebble.Batch, next Range, o *pebble.WriteOptions) error {
	return w.show(next, w.journal.commit(b, next, o))
}

// forgetAfter forgets the states in memory after an error, because they are ahead of what is written: the next difference would be to a state that the
// journal does not have.
func (w *Writer) forgetAfter(err *error) {
	if *err != nil {
		w.tails = newTails(w.tails.limit)
	}
}

// show continues with the new state of the range, unless it could not be written.
func (w *Writer) show(next Range, err error) error {
	if err != nil {
		return err
	}
	w.current = next
	w.tails.trim()
	return nil
}

// Sync makes what is written survive a crash, also of the process.
func (w *Writer) Sync() error {
	if err := w.journal.db.LogData(nil, pebble.Sync); err != nil {
		return fmt.Errorf("writing to the journal: %w", err)
	}
	return nil
}
