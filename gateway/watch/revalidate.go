package watch

import (
	"context"
	"time"
)

const (
	// revalidateEvery is how often it is asked whether somebody may have lost a right, which is two numbers, and expiryEvery how
	// often credentials may expire unnoticed.
	revalidateEvery = time.Second
	expiryEvery     = 5 * time.Second
)

// Revalidate ends watches whose caller has lost the right to them, until ctx ends. A watch may outlast a policy or a credential.
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

// revalidateStreams authorizes every stream again or, if no policy has changed, those whose credential has expired.
func (s *Service) revalidateStreams(now time.Time, changed bool) {
	for _, e := range s.Registry.authenticated() {
		expires := e.caller.Identity.Expires
		if !changed && (expires.IsZero() || now.Before(expires)) {
			continue
		}
		if err := s.Access.Revalidate(e.caller, now); err != nil {
			e.revoke(err)
		}
	}
}
