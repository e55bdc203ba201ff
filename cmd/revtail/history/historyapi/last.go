package historyapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"revtail/cmd/revtail/client"
)

// Last is what the history knows of the end of an object's changes.
type Last struct {
	change *Entry // nil: none is recorded
	undone *Entry // the last change that is not one of the status alone; nil: there is none
	gap    *Entry // the last one; nil: there is none
	end    End
}

// lastPage is how many changes ReadLast reads at a time: mostly the first one is enough.
const lastPage = 5

// ReadLast reads the changes of one object, the newest first, until one that is not of the status alone.
func ReadLast(ctx context.Context, c *client.Client, q Query) (l Last, err error) {
	q.Previous, q.Descending, q.Limit = true, true, lastPage
	reader := &Reader{Client: c, Query: q}
	for e, failed := range reader.Entries(ctx) {
		switch {
		case failed != nil:
			return l, failed
		case e.IsGap() && l.gap == nil:
			l.gap = &e
		case e.IsGap():
		case l.change == nil:
			l.change = &e
		}
		if !e.IsGap() && !e.IsStatus() {
			l.undone = &e
			if l.undone.Revision == l.change.Revision {
				l.undone = l.change
			}
			break
		}
	}
	l.end = reader.End
	return l, nil
}

// Before returns the object before its last change that is not one of the status alone; nil: the change has created it. revision is the resourceVersion of
// the present object; zero: it does not exist. The error says why the last change is not known.
func (l Last) Before(revision int64) (json.RawMessage, error) {
	deleted := l.change != nil && l.change.Type == "DELETED"
	switch {
	case l.change == nil, deleted != (revision == 0), !deleted && revision != l.change.Revision:
		return nil, l.unknown(l.change, revision)
	case l.undone == nil:
		return nil, fmt.Errorf("only its status has changed since revision %d, from which changes are recorded", l.end.Oldest)
	case l.undone != l.change && l.undone.Revision != l.change.Revision && l.gapAfter(l.undone):
		return nil, l.unknown(l.undone, revision)
	case l.undone.Type == "ADDED":
		return nil, nil
	}
	past := l.undone.Previous
	if l.undone.Type == "DELETED" {
		past = l.undone.Object
	}
	if past == nil {
		return nil, errors.New(l.undone.Missing())
	}
	return past, nil
}

// gapAfter reports whether there is a gap after a change; nil: any gap.
func (l Last) gapAfter(change *Entry) bool {
	return l.gap != nil && (change == nil || l.gap.Until > change.Revision)
}

// unknown says why the last change is not known. change is the last one that is.
func (l Last) unknown(change *Entry, revision int64) error {
	switch {
	case l.gapAfter(change):
		return errors.New(l.gap.GapText() + ": --to wants a revision outside of them")
	case l.end.Through < revision, change != nil && revision != 0 && revision < change.Revision:
		return fmt.Errorf("it is changing just now, and the history has the changes until revision %d: try again", l.end.Through)
	case change != nil:
		return fmt.Errorf("its last change that is recorded, at revision %d, is not the one that made the present object: try again", change.Revision)
	case revision == 0:
		return fmt.Errorf("it does not exist, and no change of it is known: changes are recorded since revision %d", l.end.Oldest)
	}
	return fmt.Errorf("its last change, at revision %d, is not recorded: changes are recorded since revision %d", revision, l.end.Oldest)
}
