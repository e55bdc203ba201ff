package gateway

import (
	"context"
	"net/http"

	"revtail/gateway/metrics"
)

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.watches.serveHTTP(s.handler, w, r)
}

// StartDraining makes /readyz answer 503, so that load balancers turn away; everything else goes on.
func (s *Server) StartDraining() { s.watches.registry.announceDrain() }

// Drain ends every watch, each with what it still has to deliver and, where its client wants them, a last bookmark; new ones
// are refused with 429. It returns when all have ended, or with ctx's error.
func (s *Server) Drain(ctx context.Context) error { return s.watches.registry.drain(ctx) }

// Departed is how many watches have ended.
func (s *Server) Departed() uint64 { return s.watches.stats.departed() }

// watchFigures are those of all watches, for /metrics.
func (s *Server) watchFigures() metrics.Watches {
	out := s.watches.stats.figures()
	out.Delays = append(out.Delays, s.loops.delays()...)
	return out
}
