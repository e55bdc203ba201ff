package change

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"revtail/cmd/revtail/history/historyapi"
)

// life is what the history knows of an object.
type life struct {
	last   *historyapi.Entry // nil: no change is recorded
	worthy *historyapi.Entry // the last change that is not one of the status alone; nil: there is none
	gaps   []historyapi.Entry
	end    historyapi.End
}

// readLife reads the changes of the object.
func (u *undoer) readLife(ctx context.Context) (l life, err error) {
	reader := &historyapi.Reader{Client: u.client, Query: historyapi.Query{
		Resource: u.resource, Namespace: u.namespace, Name: u.name, Previous: true,
	}}
	for e, failed := range reader.Entries(ctx) {
		switch {
		case failed != nil:
			return l, failed
		case e.IsGap():
			l.gaps = append(l.gaps, e)
			continue
		case !e.IsStatus():
			l.worthy = &e
		}
		l.last = &e
	}
	l.end = reader.End
	return l, nil
}

// beforeLast returns the object before its last change; nil: the change has created it. It refuses if the present object is not the one after the last
// change that is recorded.
func (u *undoer) beforeLast(ctx context.Context, live json.RawMessage) (past json.RawMessage, err error) {
	revision, err := revisionOf(live)
	if err != nil {
		return nil, err
	}
	l, err := u.readLife(ctx)
	if err != nil {
		return nil, err
	}
	deleted := l.last != nil && l.last.Type == "DELETED"
	switch {
	case l.last == nil, deleted != (live == nil), !deleted && revision != l.last.Revision:
		return nil, l.unknown(revision)
	case l.worthy == nil:
		return nil, fmt.Errorf("only its status has changed since revision %d, from which changes are recorded", l.end.Oldest)
	case l.worthy.Type == "ADDED":
		return nil, nil
	}
	if past = l.worthy.Previous; l.worthy.Type == "DELETED" {
		past = l.worthy.Object
	}
	if past == nil {
		return nil, errors.New("its values are not recorded: the history has those of Secrets only if they are encrypted in etcd")
	}
	before, err := revisionOf(past)
	u.from = "revision " + strconv.FormatInt(before, 10)
	return past, err
}

// unknown says why the last change is not known.
func (l life) unknown(revision int64) error {
	if n := len(l.gaps); n > 0 && (l.last == nil || l.gaps[n-1].Until > l.last.Revision) {
		return fmt.Errorf("%s: --to wants a revision outside of them", l.gaps[n-1].GapText())
	}
	switch {
	case l.last != nil && revision != 0 && revision < l.last.Revision, l.end.Through < revision:
		return fmt.Errorf("it is changing just now, and the history has the changes until revision %d: try again", l.end.Through)
	case l.last != nil:
		return fmt.Errorf("its last change that is recorded, at revision %d, is not the one that made the present object: try again", l.last.Revision)
	case revision == 0:
		return fmt.Errorf("it does not exist, and no change of it is known: changes are recorded since revision %d", l.end.Oldest)
	}
	return fmt.Errorf("its last change, at revision %d, is not recorded: changes are recorded since revision %d", revision, l.end.Oldest)
}

// revisionOf returns the resourceVersion of an object; zero: there is no object.
func revisionOf(object json.RawMessage) (int64, error) {
	if object == nil {
		return 0, nil
	}
	m, err := metaOf(object)
	if err != nil {
		return 0, err
	}
	revision, err := strconv.ParseInt(m.Metadata.ResourceVersion, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("resourceVersion %q: want a revision of etcd", m.Metadata.ResourceVersion)
	}
	return revision, nil
}
