package journal

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2"

	"revtail/etcdstore"
)

// Progress shows how far a long operation is; nil: it is not shown. Total is zero if it is not known.
type Progress func(what string, done, total int64)

func (p Progress) show(what string, done, total int64) {
	if p != nil {
		p(what, done, total)
	}
}

// Summary counts what a journal has.
type Summary struct {
	Ranges int   `json:"ranges"`
	Keys   int64 `json:"keys"`
	States int64 `json:"states"`
	Events int64 `json:"events"`
}

// Verify reads every entry of every range, and checks that values can be read, and that the index of keys, the states and the events agree. It calls
// damaged for each contradiction, which names the key. The error is one of the context, or of a database that cannot be read at all.
func (j *Journal) Verify(ctx context.Context, damaged func(error), progress Progress) (Summary, error) {
	sum := Summary{}
	for _, known := range j.Ranges() {
		v := &verifier{journal: j, known: known, damaged: damaged, progress: progress, sum: &sum}
		if err := v.run(ctx); err != nil {
			return sum, fmt.Errorf("the keys of %q: %w", known.Prefix, err)
		}
		sum.Ranges++
	}
	return sum, nil
}

// verifier checks one range.
type verifier struct {
	journal  *Journal
	known    Range
	damaged  func(error)
	progress Progress
	sum      *Summary
	keys     int64 // of the index
	needed   int64 // states that have an event
}

func (v *verifier) run(ctx context.Context) error {
	v.checkRange()
	r, err := v.journal.newReader(v.known.Number)
	if err != nil {
		return err
	}
	defer r.close()
	if err := v.checkKeys(ctx, r); err != nil {
		return err
	}
	found, err := v.checkEvents(ctx, r)
	if err != nil {
		return err
	}
	if found != v.needed {
		err = v.findMissing(ctx, r)
	}
	return errors.Join(err, v.checkTimes())
}

func (v *verifier) checkRange() {
	last := v.known.Oldest - 1
	for _, gap := range v.known.Gaps {
		if gap.After <= last || gap.Until <= gap.After {
			v.damaged(fmt.Errorf("the range %q has the gap %d to %d after revision %d", v.known.Prefix, gap.After, gap.Until, last))
		}
		last = gap.Until - 1
	}
	if last > v.known.Through {
		v.damaged(fmt.Errorf("the range %q ends at revision %d, and has revision %d", v.known.Prefix, v.known.Through, last))
	}
}

// checkEvents checks that every event has a state, and returns how many do.
func (v *verifier) checkEvents(ctx context.Context, r *reader) (found int64, err error) {
	oldest, through := v.known.Oldest, v.known.Through
	before, keys := etcdstore.Revision(0), map[string]bool{}
	for e, err := range v.journal.index(v.known.Number, oldest+1, math.MaxInt64-1) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if err != nil {
			v.damaged(fmt.Errorf("the events after revision %d: %w", max(before, oldest), err))
			continue
		}
		v.progress.show("verifying events of "+v.known.Prefix, int64(e.revision-oldest), int64(through-oldest))
		v.sum.Events++
		if e.revision != before {
			before = e.revision
			clear(keys)
		}
		state, err := r.find(e.key, e.revision)
		switch {
		case err != nil:
			v.damaged(fmt.Errorf("the state of %q at revision %d: %w", e.key, e.revision, err))
		case keys[e.key]:
			v.damaged(fmt.Errorf("%q has two events of revision %d", e.key, e.revision))
		case !v.known.hasEvent(e.revision):
			v.damaged(fmt.Errorf("%q has an event of revision %d, which is outside of the range", e.key, e.revision))
		case state == nil || state.revision != e.revision:
			v.damaged(fmt.Errorf("%q has an event of revision %d, and no state", e.key, e.revision))
		default:
			found++
		}
		keys[e.key] = true
	}
	return found, nil
}

// hasEvent reports whether changes of a revision are events, and not parts of the state with which the range or what follows a gap begins.
func (r Range) hasEvent(revision etcdstore.Revision) bool {
	for _, gap := range r.Gaps {
		if revision > gap.After && revision <= gap.Until {
			return false
		}
	}
	return revision > r.Oldest && revision <= r.Through
}

// findMissing names the states without an event.
func (v *verifier) findMissing(ctx context.Context, r *reader) error {
	it, err := v.journal.db.NewIter(&pebble.IterOptions{LowerBound: head(eventKind, v.known.Number), UpperBound: head(eventKind, v.known.Number+1)})
	if err != nil {
		return err
	}
	defer func() { _ = it.Close() }()
	for ok := r.states.First(); ok; ok = r.states.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		key, revision, err := parseStateKey(r.states.Key())
		if err != nil || !v.known.hasEvent(revision) {
			continue
		}
		if _, found, err := eventOf(it, v.known.Number, key, revision); err != nil || !found {
			v.damaged(errors.Join(fmt.Errorf("%q has a state of revision %d, and no event", key, revision), err))
		}
	}
	return nil // checkKeys has reported what cannot be read
}

func (v *verifier) checkTimes() error {
	it, err := v.journal.db.NewIter(&pebble.IterOptions{LowerBound: head(timeKind, v.known.Number), UpperBound: head(timeKind, v.known.Number+1)})
	if err != nil {
		return err
	}
	defer func() { _ = it.Close() }()
	for ok := it.First(); ok; ok = it.Next() {
		at, revision, err := parseTimeKey(it.Key())
		if err == nil && revision > v.known.Through {
			err = fmt.Errorf("revision %d had arrived, and the range ends at %d", revision, v.known.Through)
		}
		if err != nil {
			v.damaged(fmt.Errorf("the time %v: %w", at, err))
		}
	}
	if err := it.Error(); err != nil {
		v.damaged(fmt.Errorf("the times of %q: %w", v.known.Prefix, err))
	}
	return nil
}
