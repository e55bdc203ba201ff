package watch

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"revtail/gateway/access"
)

const (
	// maxReviews is how many reviews are in progress at the same time, and as many besides of users whose last review was slow. A kube-apiserver answers
	// so many questions within milliseconds.
	maxReviews = 32
	// slowReview is the duration from which on a review is slow. Most take a few milliseconds, and one without an answer 5 s.
	slowReview = time.Second
	// reviewSpread is the time over which the reviews of a round begin, because a kube-apiserver must not get all questions at once. It is shorter
	// than expiryEvery, so that rounds do not overlap.
	reviewSpread = 4 * time.Second
	// reviewPause is the mean time between the beginnings of two reviews of a large round, which takes longer than reviewSpread: 2,000 begin in a second.
	reviewPause = 500 * time.Microsecond
	// maxUnreviewed is how long a stream stays open if its review is due and does not begin. Another server keeps its decisions as long.
	maxUnreviewed = 5 * time.Minute
)

// review decides about open streams for which the same users ask for the same.
type review struct {
	caller  *access.Caller // of one of the streams
	streams []*registration
	since   time.Time // when it became due
	slow    bool      // it waits among the reviews of users whose last review was slow
}

// user returns whom the review is about.
func (r *review) user() string { return r.caller.Identity.Name }

func (r *review) revoke(why error) {
	for _, e := range r.streams {
		e.revoke(why)
	}
}

// reviewer reviews open streams, many at the same time. Users whose reviews are slow delay no other users.
type reviewer struct {
	access             *access.Control
	places, slowPlaces chan struct{} // taken by the reviews in progress
	running            sync.WaitGroup

	mu      sync.Mutex                  // guards the fields below
	pending map[access.Decision]*review // begun by start, not finished
	slow    map[string]bool             // users whose last review was slow
}

func newReviewer(control *access.Control) *reviewer {
	return &reviewer{access: control, places: make(chan struct{}, maxReviews), slowPlaces: make(chan struct{}, maxReviews),
		pending: make(map[access.Decision]*review), slow: make(map[string]bool)}
}

// start starts a round: the reviews that are due, except those that are pending. It ends streams whose reviews are pending for too long. It waits only if
// this program decides itself.
func (v *reviewer) start(ctx context.Context, due map[access.Decision]*review, now time.Time) {
	if !v.access.Delegates() {
		for _, r := range due {
			if err := v.access.Revalidate(r.caller, now); err != nil {
				r.revoke(err)
			}
		}
		return
	}
	usual, slow := v.admit(due, now)
	if len(usual) > 0 {
		v.running.Go(func() { v.round(ctx, usual, v.places) })
	}
	if len(slow) > 0 {
		v.running.Go(func() { v.round(ctx, slow, v.slowPlaces) })
	}
}

// admit makes reviews pending and returns them in two parts, the second one of users whose last review was slow.
func (v *reviewer) admit(due map[access.Decision]*review, now time.Time) (usual, slow map[access.Decision]*review) {
	usual, slow = make(map[access.Decision]*review), make(map[access.Decision]*review)
	stillSlow := make(map[string]bool)
	var waiting []*review
	v.mu.Lock()
	for decision, r := range due {
		r.slow = v.slow[r.user()]
		if r.slow {
			stillSlow[r.user()] = true
		}
		switch before := v.pending[decision]; {
		case before != nil:
			waiting = append(waiting, &review{caller: r.caller, streams: r.streams, since: before.since, slow: r.slow})
		case r.slow:
			v.pending[decision], slow[decision] = r, r
		default:
			v.pending[decision], usual[decision] = r, r
		}
	}
	v.slow = stillSlow // without users who have no stream any more
	v.mu.Unlock()
	for _, r := range waiting {
		v.expire(r, now)
	}
	return usual, slow
}

// expire ends the streams of a pending review if nothing allows them to stay open. Only users with slow reviews are asked about, because
// decisions of many others may be forgotten although the other server answers.
func (v *reviewer) expire(r *review, now time.Time) {
	switch {
	case now.Sub(r.since) >= maxUnreviewed:
		r.revoke(access.ErrUndecided)
	case r.slow:
		if err := v.access.MayContinue(r.caller); err != nil {
			r.revoke(err)
		}
	}
}

// round begins reviews one after another, each at the phase of its decision, and returns when the last one has begun or ctx has ended.
func (v *reviewer) round(ctx context.Context, reviews map[access.Decision]*review, places chan struct{}) {
	began, spread := time.Now(), max(reviewSpread, time.Duration(len(reviews))*reviewPause)
	for _, decision := range slices.SortedFunc(maps.Keys(reviews), access.Decision.Compare) {
		if !wait(ctx, time.Until(began.Add(time.Duration(decision.Phase()*float64(spread))))) {
			return
		}
		r := reviews[decision]
		if v.postponed(decision, r) {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case places <- struct{}{}:
		}
		v.running.Go(func() {
			v.review(decision, r)
			<-places
		})
	}
}

// wait waits for a duration. It returns false if ctx has ended.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// postponed reports whether a review is left to the next round, because the last review of its user, which was in this round, was slow.
func (v *reviewer) postponed(decision access.Decision, r *review) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if r.slow || !v.slow[r.user()] {
		return false
	}
	delete(v.pending, decision)
	return true
}

func (v *reviewer) review(decision access.Decision, r *review) {
	began := time.Now()
	if err := v.access.Revalidate(r.caller, began); err != nil {
		r.revoke(err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.pending, decision)
	if time.Since(began) >= slowReview {
		v.slow[r.user()] = true
	} else {
		delete(v.slow, r.user())
	}
}
