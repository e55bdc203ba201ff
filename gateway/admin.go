package gateway

import (
	"net/http"
	"net/http/pprof"

	"github.com/go-chi/chi/v5"
)

// Alive returns when the locks can be taken that requests need: where it does not, the gateway is stuck.
func (s *Server) Alive() {
	s.figures()
	s.watchFigures()
	s.watches.registry.shuttingDown()
}

// Admin answers what is for who runs the gateway alone: who watches what, profiles, and the metrics too. Nobody is asked who they
// are: it belongs on a listener of its own that only they reach.
func (s *Server) Admin() http.Handler {
	r := chi.NewRouter()
	r.Use(s.chain.identify, s.chain.recoverPanic)
	r.Get("/livez", s.serveLive)
	r.Get("/readyz", s.serveReady)
	r.Method(http.MethodGet, "/metrics", s.metrics)
	r.Get("/debug/watchers", s.watches.serveWatchers)
	r.Get("/debug/pprof/*", pprof.Index)
	r.Get("/debug/pprof/cmdline", pprof.Cmdline)
	r.Get("/debug/pprof/profile", pprof.Profile)
	r.Get("/debug/pprof/symbol", pprof.Symbol)
	r.Get("/debug/pprof/trace", pprof.Trace)
	return headIsGet(r)
}
