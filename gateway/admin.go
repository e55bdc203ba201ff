package gateway

import (
	"net/http"
	"net/http/pprof"

	"github.com/go-chi/chi/v5"

	"revtail/gateway/http/request"
)

// admin is what only operators may see: the open watches, profiles, and the metrics. It authenticates no request.
func (h *handlers) admin() http.Handler {
	r := chi.NewRouter()
	r.Use(h.chain.SetHeaders, h.chain.RecoverPanic)
	r.Get("/livez", h.health.serveLive)
	r.Get("/readyz", h.health.serveReady)
	r.Method(http.MethodGet, "/metrics", h.metrics)
	r.Get("/debug/watchers", h.watches.ServeWatchers)
	r.Get("/debug/pprof/*", pprof.Index)
	r.Get("/debug/pprof/cmdline", pprof.Cmdline)
	r.Get("/debug/pprof/profile", pprof.Profile)
	r.Get("/debug/pprof/symbol", pprof.Symbol)
	r.Get("/debug/pprof/trace", pprof.Trace)
	return request.HeadIsGet(r)
}
