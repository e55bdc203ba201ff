package watch

import (
	"context"
	"time"
)

const (
	// revalidateEvery is the period in which Revalidate compares the generation of credentials and policy, which are two numbers.
	revalidateEvery = time.Second
	// expiryEvery is the period in which Revalidate looks for expired credentials, for those of service accounts that are gone, and for what another
	// server decides.
	expiryEvery = 5 * time.Second
)

// Revalidate ends watches whose caller has lost the right to them, because a watch may stay open longer than its credential is valid or the
// policy unchanged. It notices a changed policy or credential within about a second, and an expired credential or one of a service account that is gone
// within about 6 s. The watch
// ends with an ERROR frame. Revalidate returns when ctx ends.
func (s *Service) Revalidate(ctx context.Context) {
	ticker := time.NewTicker(revalidateEvery)
	defer ticker.Stop()
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
		s.revalidateStreams(now, changed)
	}
}

// revalidateStreams revalidates every stream that has a caller or, unless changed, those whose credential may have ended at now.
func (s *Service) revalidateStreams(now time.Time, changed bool) {
	for _, e := range s.Registry.authenticated() {
		if !changed && !s.Access.MayHaveEnded(e.caller, now) {
			continue
		}
		if err := s.Access.Revalidate(e.caller, now); err != nil {
			e.revoke(err)
		}
	}
}
