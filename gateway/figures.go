package gateway

import "revtail/gateway/metrics"

// figures are those of all caches, for /metrics.
func (s *Server) figures() []metrics.Cache {
	return append(s.catalog.Figures(), s.keys.Figures()...)
}

// watchFigures are those of all watches, for /metrics.
func (s *Server) watchFigures() metrics.Watches {
	out := s.watches.Stats.Figures()
	out.Delays = append(out.Delays, s.loops.Delays()...)
	return out
}
