package journal

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2"

	"revtail/etcdstore"
	"revtail/etcdstore/journal/delta"
)

// export writes the lines of a journal to which nothing is written meanwhile.
func (j *Journal) export(ctx context.Context, w io.Writer, progress Progress) (Summary, error) {
	const buffer = 1 << 20
	buffered := bufio.NewWriterSize(w, buffer)
	e := &exporter{journal: j, lines: json.NewEncoder(buffered), progress: progress}
	e.lines.SetEscapeHTML(false)
	err := e.lines.Encode(line{Format: exportFormat})
	for _, known := range j.Ranges() {
		if err == nil {
			err = e.writeRange(ctx, known)
		}
	}
	if err == nil {
		err = e.lines.Encode(line{End: &exportCount{e.sum.Ranges, e.sum.States, e.sum.Events}})
	}
	if err == nil {
		err = buffered.Flush()
	}
	return e.sum, err
}

// exporter writes the lines of an export.
type exporter struct {
	journal  *Journal
	lines    *json.Encoder
	progress Progress
	sum      Summary
	recent   tails // the values that were written last, which most differences are to
}

// writeRange writes a range in the order of its revisions: the state at its oldest one, and events, with the state after each gap.
func (e *exporter) writeRange(ctx context.Context, known Range) error {
	e.sum.Ranges++
	e.recent = newTails(maxTails)
	err := e.lines.Encode(line{Range: &rangeLine{known.Prefix, known.History, known.Oldest, known.Through, known.Except, known.Gaps, known.Former, known.Ended}})
	if err != nil {
		return err
	}
	r, err := e.journal.newReader(known.Number)
	if err != nil {
		return err
	}
	defer r.close()
	if err := e.writeTimes(known); err != nil {
		return err
	}
	if err := e.writeStates(ctx, r, known, 0, known.Oldest); err != nil {
		return err
	}
	from := known.Oldest
	for _, gap := range known.Gaps {
		if err := e.writeEvents(ctx, r, known, from, gap.After); err != nil {
			return err
		}
		if err := e.writeStates(ctx, r, known, gap.After, gap.Until); err != nil {
			return err
		}
		from = gap.Until
	}
	return e.writeEvents(ctx, r, known, from, known.Through)
}

// writeTimes writes those times that are not times of events.
func (e *exporter) writeTimes(known Range) error {
	it, err := e.journal.reads.NewIter(&pebble.IterOptions{LowerBound: head(timeKind, known.Number), UpperBound: head(timeKind, known.Number+1)})
	if err != nil {
		return err
	}
	defer func() { _ = it.Close() }()
	for ok := it.First(); ok; ok = it.Next() {
		at, revision, err := parseTimeKey(it.Key())
		if err != nil {
			return err
		}
		if known.hasEvent(revision) {
			continue
		}
		if err := e.lines.Encode(line{Time: &timeLine{formatTime(at), revision}}); err != nil {
			return err
		}
	}
	return it.Error()
}

// writeStates writes the states at a revision that were written after another one.
func (e *exporter) writeStates(ctx context.Context, r *reader, known Range, after, at etcdstore.Revision) error {
	for key, err := range r.allKeys(known) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		f, err := r.find(key, at)
		if err != nil {
			return err
		}
		if f == nil || f.revision <= after || f.deleted && after == 0 {
			continue
		}
		if err := e.writeChange(r, key, f, ""); err != nil {
			return err
		}
		e.sum.States++
		e.progress.show("exporting states of "+known.Prefix, e.sum.States, 0)
	}
	return nil
}

// allKeys yields the keys of the range. A range of an earlier version may lack the index of keys.
func (r *reader) allKeys(known Range) func(yield func(string, error) bool) {
	if known.Indexed {
		return r.keys(known.Prefix, etcdstore.ListOptions{})
	}
	return func(yield func(string, error) bool) {
		bound := prefixEnd(statePrefix(r.number, known.Prefix))
		for from := statePrefix(r.number, known.Prefix); ; {
			key, err := r.next(from, bound)
			if err == nil && key == nil {
				return
			}
			if err != nil {
				yield("", err)
				return
			}
			if !yield(*key, nil) {
				return
			}
			from = afterKey(r.number, *key)
		}
	}
}

// writeEvents writes the events after a revision, through another one.
func (e *exporter) writeEvents(ctx context.Context, r *reader, known Range, after, through etcdstore.Revision) error {
	for event, err := range e.journal.index(known.Number, after+1, through) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		f, err := r.find(event.key, event.revision)
		if err == nil && (f == nil || f.revision != event.revision) {
			err = errEntry
		}
		if err != nil {
			return damagedError(event.key, event.revision, err)
		}
		if err := e.writeChange(r, event.key, f, formatTime(event.arrived)); err != nil {
			return err
		}
		e.sum.Events++
		e.progress.show("exporting events of "+known.Prefix, int64(event.revision-known.Oldest), int64(known.Through-known.Oldest))
	}
	return nil
}

// writeChange writes the state under the iterator of the reader; arrived is empty for a state that is no event.
func (e *exporter) writeChange(r *reader, key string, f *found, arrived string) (err error) {
	c := &changeLine{Revision: f.revision, At: arrived, Deleted: f.deleted, Omitted: f.omitted, Created: f.created, Version: f.version, Lease: f.lease}
	c.setKey(key)
	switch {
	case f.deleted || f.omitted:
		e.recent.forget(key)
	default:
		if c.Value, err = e.value(r, key, *f); err != nil {
			return err
		}
		e.recent.set(key, tail{value: c.Value, depth: f.depth})
		e.recent.trim()
	}
	out := line{State: c}
	if arrived != "" {
		out = line{Event: c}
	}
	if err := e.lines.Encode(out); err != nil {
		return fmt.Errorf("writing the export: %w", err)
	}
	return nil
}

// value returns the value of an entry: the one before is mostly the last one of the key that was written.
func (e *exporter) value(r *reader, key string, f found) ([]byte, error) {
	if before, ok := e.recent.byKey[key]; ok && f.depth > 0 && before.depth == f.depth-1 {
		value, err := delta.AppendValue(nil, before.value, f.value)
		if err != nil {
			err = damagedError(key, f.revision, err)
		}
		return value, err
	}
	return r.value(key, f)
}
