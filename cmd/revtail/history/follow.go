package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/history/historyapi"
)

// position is how far the changes of a query are printed.
type position struct {
	historyapi.Reader

	revision int64           // that a round which failed has reached; zero: the last round was complete
	printed  map[string]bool // the objects whose changes at that revision are printed
	missing  bool            // nothing was recorded yet when it was read
}

// isPrinted reports whether a round that failed has printed an entry.
func (p *position) isPrinted(e historyapi.Entry) bool {
	return p.revision != 0 && (e.IsGap() && e.Until <= p.revision || !e.IsGap() && e.Revision == p.revision && p.printed[e.Namespace+"/"+e.Name])
}

// add notes that an entry is printed. After a failure the next round begins at its revision.
func (p *position) add(e historyapi.Entry) {
	if e.IsGap() {
		return
	}
	if e.Revision != p.revision {
		p.revision, p.printed = e.Revision, make(map[string]bool)
	}
	p.printed[e.Namespace+"/"+e.Name] = true
	p.Query.Since = strconv.FormatInt(e.Revision, 10)
}

// complete lets the next round begin after a revision.
func (p *position) complete(through int64) {
	p.revision, p.printed = 0, nil
	p.Query.Since = strconv.FormatInt(through+1, 10)
}

// round prints the changes of all readers until a revision, and lets them go on behind it; zero: the newest one.
func (l *logger) round(ctx context.Context, until int64) error {
	refused, missing := make(map[int]error), make(map[int]error)
	skip := func(i int, err error) bool {
		switch {
		case l.skip(err):
			refused[i] = err
		case l.readers[i].isMissing(err):
			missing[i] = err
		default:
			return false
		}
		return true
	}
	readers := make([]*historyapi.Reader, len(l.readers))
	for i, r := range l.readers {
		if readers[i] = &r.Reader; until != 0 {
			r.Query.Until = strconv.FormatInt(until, 10)
		}
	}
	for e, err := range historyapi.Merge(ctx, readers, skip) {
		if err != nil {
			return err
		}
		of := l.readers[e.Index]
		if of.isPrinted(e.Entry) {
			continue
		}
		if err := l.print(e); err != nil {
			return &outputError{err}
		}
		of.add(e.Entry)
	}
	if n := len(l.readers); n > 0 && len(refused)+len(missing) == n {
		return cmp.Or(missing[0], refused[0])
	}
	l.note(missing)
	l.complete(refused, until)
	return nil
}

// isMissing reports whether an error says that a resource is not recorded yet. Of one that was read before, it says that the gateway is not available.
func (p *position) isMissing(err error) bool {
	return p.End.Through == 0 && client.HasCode(err, http.StatusServiceUnavailable)
}

// note says once which resources are missing, and which ones are no longer.
func (l *logger) note(missing map[int]error) {
	for i, r := range l.readers {
		switch err := missing[i]; {
		case err != nil && !r.missing && l.follow:
			l.notices(fmt.Sprintf("going on without it until it is there: %v", err))
		case err != nil && !r.missing:
			l.notices(fmt.Sprintf("its changes are missing here: %v", err))
		case err == nil && r.missing:
			l.notices(fmt.Sprintf("the history of %s is there now", r.Query.Resource.QualifiedName()))
		}
		r.missing = missing[i] != nil
	}
}

// complete notes that a round is complete, and leaves out the readers that are refused.
func (l *logger) complete(refused map[int]error, until int64) {
	var left []*position
	for i, r := range l.readers {
		if refused[i] != nil {
			continue
		}
		left = append(left, r)
		if r.missing {
			continue
		}
		through := r.End.Through
		if until != 0 {
			through = min(through, until)
		}
		r.complete(through)
		if l.oldest.Oldest == 0 {
			l.oldest.Oldest, l.oldest.OldestTime = r.End.Oldest, r.End.OldestTime
		}
		l.oldest.Through = max(l.oldest.Through, through)
	}
	l.readers = left
}

// outputError is an error of the output, which ends --follow.
type outputError struct{ error }

// Unwrap returns the error of the output.
func (e *outputError) Unwrap() error { return e.error }

// pollInterval is the time between two rounds of --follow.
const pollInterval = time.Second

// poll prints the changes that follow until ctx ends, or until an error that a retry cannot repair.
func (l *logger) poll(ctx context.Context) error {
	var backoff client.Backoff
	lost, after := false, int64(0)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pollInterval):
		}
		err := l.next(ctx)
		own := (*outputError)(nil)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the user has ended the command
		}
		switch {
		case errors.As(err, &own), client.IsPermanent(err):
			return err
		case err != nil:
			if !lost {
				after = l.oldest.Through
				l.notices(fmt.Sprintf("the connection was lost, trying again: %v", err))
			}
			lost = true
			backoff.Wait(ctx, err)
			continue
		case lost:
			l.notices(fmt.Sprintf("connected again, going on after revision %d", after))
			lost = false
		}
		backoff.Reset()
	}
}

// next prints the changes until the revision that is the newest one now, so that those of all resources are in order.
func (l *logger) next(ctx context.Context) error {
	reader := l.readers[max(0, slices.IndexFunc(l.readers, func(p *position) bool { return !p.missing }))]
	through, err := reader.Through(ctx)
	if err != nil || through <= l.oldest.Through {
		return err
	}
	return l.round(ctx, through)
}
