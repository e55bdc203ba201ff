package gateway

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

// revalidate ends the streams of those who have lost the right to them, until ctx ends: a watch lasts longer than a policy.
func (s *watchService) revalidate(ctx context.Context) {
	ticker := time.NewTicker(revalidateEvery)
	defer ticker.Stop()
	seen, looked := s.access.generation(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now, generation := time.Now(), s.access.generation()
		changed := generation != seen
		if !changed && now.Sub(looked) < expiryEvery {
			continue
		}
		seen, looked = generation, now
		s.revalidateStreams(now, changed)
	}
}

// revalidateStreams judges every stream or, with nothing changed, those whose credential expires.
func (s *watchService) revalidateStreams(now time.Time, changed bool) {
	for _, e := range s.registry.authenticated() {
		expires := e.caller.identity.Expires
		if !changed && (expires.IsZero() || now.Before(expires)) {
			continue
		}
		if err := s.access.judge(e.caller, now); err != nil {
			e.revoke(err)
		}
	}
}
