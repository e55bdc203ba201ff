package robustness

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"revtail/gateway/gatewaytest"
)

// journalMetric returns a metric of the journal of a gateway.
func (r *Run) journalMetric(gateway int, name string) int64 {
	return int64(r.metric(r.gateways[gateway].URL, "revtail_journal_"+name+`{prefix="/registry/"}`))
}

// journaled returns the revision through which the journals of all gateways have every event.
func (r *Run) journaled() int64 {
	through := r.journalMetric(0, "newest_revision")
	for i := range r.gateways {
		through = min(through, r.journalMetric(i, "newest_revision"))
	}
	return through
}

// awaitJournals waits until all journals have a revision, and returns the oldest revision that all of them have.
func (r *Run) awaitJournals(revision int64) (oldest int64) {
	gatewaytest.Until(r.TB, fmt.Sprint("the journals have revision ", revision), func() bool { return r.journaled() >= revision })
	for i := range r.gateways {
		oldest = max(oldest, r.journalMetric(i, "oldest_revision"))
	}
	return oldest
}

// compactJournaled waits, compacts etcd to where all journals were before that, and thus are on the disk, and returns this revision.
func (r *Run) compactJournaled(d time.Duration) int64 {
	through := r.journaled()
	r.Wait(d)
	r.Compact(through)
	return through
}

// rewound returns n clients that begin at random revisions of a range.
func rewound(name string, n int, oldest, newest int64) []Client {
	clients := Crowd(n)
	for i := range clients {
		clients[i].Name = fmt.Sprint(name, "-", i)
		clients[i].Since = oldest + rand.Int64N(newest-oldest+1) //nolint:gosec // no secret
	}
	return clients
}

// withoutGaps checks that no journal has a gap: etcd was compacted only to where they were.
func (r *Run) withoutGaps() {
	for i := range r.gateways {
		if n := r.journalMetric(i, "gaps"); n != 0 {
			r.Violate("journal", fmt.Sprint("gateway ", i), "%d gaps", n)
		}
	}
}

// pastLists is how many lists readPast makes.
const pastLists = 1000

// readPast lists the state at random revisions since oldest; the validators compare the lists with etcd's history. mayBeGone says at which revisions
// the answer may be 410; nil: at none.
func (r *Run) readPast(oldest int64, mayBeGone func(revision int64) bool) {
	h, newest := r.history(), r.Newest()
	random := rand.New(rand.NewPCG(1, pastLists)) //nolint:gosec // a load that can be repeated
	scopes := []Scope{{}, {Namespace: "a"}, {Label: "color=blue"}, {Namespace: "b", Name: "churn-0-1"}}
	compacted, past, expired := h.compactedAt(time.Now()), 0, 0
	for i := range pastLists {
		gateway, at := i%len(r.gateways), oldest+random.Int64N(newest-oldest+1)
		l, err := r.listPatiently(gateway, scopes[i%len(scopes)], at)
		switch refused := (*refusal)(nil); {
		case err == nil:
			l.Reader = "the historian"
			h.addList(l)
			if at < compacted {
				past++
			}
		case errors.As(err, &refused) && refused.code == gone && mayBeGone != nil && mayBeGone(at):
			expired++
		default:
			r.Violate("journal", fmt.Sprint("gateway ", gateway), "the list at %d, while etcd is compacted to %d: %v", at, compacted, err)
		}
	}
	r.Note("%d lists at random revisions from %d to %d: %d at compacted ones, %d without an answer", pastLists, oldest, newest, past, expired)
	if past == 0 {
		r.Violate("non-vacuous", "the historian", "no list is at a compacted revision: etcd is compacted to %d", compacted)
	}
}

// listPatiently repeats a list while the gateway asks for that.
func (r *Run) listPatiently(gateway int, scope Scope, at int64) (l *List, err error) {
	for range 50 {
		l, err = r.list(r.Context(), gateway, Exact, scope, at)
		refused := (*refusal)(nil)
		if !errors.As(err, &refused) || refused.code != http.StatusTooManyRequests && refused.code != http.StatusServiceUnavailable {
			break
		}
		r.Wait(100 * time.Millisecond)
	}
	return l, err
}
