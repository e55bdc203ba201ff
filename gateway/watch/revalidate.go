package watch

import (
	"context"
	"time"

	"revtail/gateway/access"
)

const (
	// revalidateEvery is the period in which Revalidate compares the generation of credentials and policy, which are two numbers.
	revalidateEvery = time.Second
	// expiryEvery is the period in which Revalidate looks for expired credentials, for those of service accounts that are gone, and for what another
	// server decides.
	expiryEvery = 5 * time.Second
)

// Revalidate ends watches whose caller has lost the right to them, because a watch may stay open longer than its credential is valid or the
// policy unchanged. It notices a changed policy or credential within about a second, an expired credential or one of a service account that is gone
// within about 6 s, and what another server decides as DESIGN.md says. The watch ends with an ERROR frame. Revalidate returns when ctx ends and the
// last question to another server has an answer.
func (s *Service) Revalidate(ctx context.Context) {
	ticker := time.NewTicker(revalidateEvery)
	defer ticker.Stop()
	reviews := newReviewer(s.Access)
	defer reviews.running.Wait()
	seen, looked := s.Access.Generation(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now, generation := time.Now(), s.Access.Generation()
		changed := generation != seen
		if !changed && now.Sub(looked) < expiryEvery {
			continue
		}
		seen, looked = generation, now
		reviews.start(ctx, s.due(now, changed), now)
	}
}

// due returns the reviews of all streams that have a caller or, unless changed, of those whose credential may have ended at now. It ends streams whose
// credential has ended, if that needs no review.
func (s *Service) due(now time.Time, changed bool) map[access.Decision]*review {
	due := make(map[access.Decision]*review)
	for _, e := range s.Registry.authenticated() {
		if !changed && !s.Access.MayHaveEnded(e.caller, now) {
			continue
		}
		decision, err := s.Access.DecisionOf(e.caller, now)
		if err != nil {
			e.revoke(err)
			continue
		}
		r := due[decision]
		if r == nil {
			r = &review{caller: e.caller, since: now}
			due[decision] = r
		}
		r.streams = append(r.streams, e)
	}
	return due
}
