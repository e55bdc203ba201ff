package journal

import (
	"context"
	"fmt"
	"time"

	"revtail/etcdstore"
)

// PruneOptions say what Prune deletes. One field is set.
type PruneOptions struct {
	Revision etcdstore.Revision // what is needed only for revisions before this one; former histories stay as they are
	Before   time.Time          // what is needed only for times before this one, and former histories that end before it
}

// Pruned is what Prune did with a range.
type Pruned struct {
	Was, Is Range
	Removed bool // it was a former history, or has ended, and nothing of it is needed
}

// Prune deletes the oldest states and events of all ranges, and frees their space on the disk. Nothing else may write to the journal. The error is one of
// the context, of a revision that has not arrived, or of the database; what is pruned stays so.
func (j *Journal) Prune(ctx context.Context, o PruneOptions, progress Progress) ([]Pruned, error) {
	ranges := j.Ranges()
	for _, r := range ranges {
		if r.Continues() && o.Revision > r.Through {
			return nil, fmt.Errorf("revision %d: want %d or less, the newest one of %q", o.Revision, r.Through, r.Prefix)
		}
	}
	out := make([]Pruned, 0, len(ranges))
	for i, r := range ranges {
		progress.show("pruning "+r.Prefix, int64(i), int64(len(ranges)))
		done, err := j.pruneRange(ctx, r, o)
		if err != nil {
			return out, err
		}
		out = append(out, done)
	}
	progress.show("freeing space", 0, 0)
	if err := j.db.Compact(ctx, []byte{0}, []byte{0xff}, true); err != nil {
		return out, fmt.Errorf("freeing space: %w", err)
	}
	return out, nil
}

func (j *Journal) pruneRange(ctx context.Context, r Range, o PruneOptions) (Pruned, error) {
	same, oldest := Pruned{Was: r, Is: r}, o.Revision
	switch {
	case o.Before.IsZero() && r.Former:
		return same, nil
	case o.Before.IsZero() && r.Ended && r.Through <= o.Revision:
		return Pruned{Was: r, Is: r, Removed: true}, j.Remove(r)
	}
	if !o.Before.IsZero() {
		last, err := j.Newest(r)
		if err != nil {
			return same, err
		}
		if !r.Continues() && last.Before(o.Before) {
			return Pruned{Was: r, Is: r, Removed: true}, j.Remove(r)
		}
		at, _, ok, err := j.At(r, o.Before)
		if err != nil || !ok {
			return same, err
		}
		oldest = at
	}
	w := &Writer{journal: j, current: r, tails: newTails(maxTails)}
	err := w.Prune(ctx, oldest)
	return Pruned{Was: r, Is: w.Range()}, err
}
