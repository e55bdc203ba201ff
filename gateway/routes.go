package gateway

import (
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"revtail/gateway/console"
)

// routes is every URL of the product.
func (s *Server) routes() http.Handler {
	r := chi.NewRouter()
	r.Use(s.chain.count, s.chain.trace, s.cutStalled, s.chain.identify, s.access.logAccess, s.chain.recoverPanic)
	r.Use(limitHeaders, limitQuery, timeBody, s.chain.checkHost, cleanPath, s.chain.shareWithOrigins, s.chain.refuseForeignWrites, s.access.admit, refuseImpersonation, onlyWatchesUpgrade)
	r.NotFound(notFound)
	r.MethodNotAllowed(methodNotAllowed)

	r.Get("/", s.serveRoot)
	r.Method(http.MethodGet, strings.TrimSuffix(console.Path, "/"), http.RedirectHandler(console.Path, http.StatusMovedPermanently))
	r.Method(http.MethodGet, console.Path+"*", console.Handler(http.HandlerFunc(notFound)))
	r.Get("/livez", s.serveLive)
	r.Get("/healthz", s.serveReady)
	r.Get("/readyz", s.serveReady)
	r.Method(http.MethodGet, "/metrics", s.metrics)
	if s.options.Watchers {
		r.Get("/debug/watchers", s.watches.serveWatchers)
	}

	r.Get("/version", s.api.serveVersion)
	r.Get("/api", s.api.serveCoreVersions)
	complete := r.With(s.api.whenComplete)
	complete.Get("/apis", s.api.serveGroups)
	complete.Get("/apis/{group}", withPath(s.api.serveGroup))
	complete.Get("/openapi/v2", s.api.serveOpenAPIV2)
	complete.Get("/openapi/v3", s.api.serveOpenAPIIndex)
	complete.Get("/openapi/v3/*", func(w http.ResponseWriter, r *http.Request) {
		s.api.serveOpenAPI(w, r, chi.URLParam(r, "*"))
	})

	r.HandleFunc(keysPath, s.keys.serveKeys)
	r.HandleFunc(keysPath+"/*", s.keys.serveKeys)

	r.Post("/v1/txn", s.keys.serveTxn)
	r.Get("/v1/openapi.json", serveKeysOpenAPI)

	for path, serve := range s.api.reviews() {
		r.HandleFunc(path, serve)
	}
	r.Post("/v1/tickets", s.access.serveTickets)
	r.Route("/api/{version}", s.resourceRoutes)
	r.Route("/apis/{group}/{version}", s.resourceRoutes)
	return headIsGet(r)
}

// resourceRoutes are the URLs of one group and version. A name in the place of {resource} that is not one of a resource is
// answered with 404 by locate.
func (s *Server) resourceRoutes(r chi.Router) {
	r.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) { refuseMethod(w, r, "GET, HEAD") })
	r.With(s.api.whenComplete).Get("/", withPath(s.api.serveResources))
	timed, serve, watch := r.With(s.chain.limitTime), withPath(s.api.serveResource), withPath(s.api.serveLegacyWatch)
	timed.HandleFunc("/{resource}", serve)
	timed.HandleFunc("/{resource}/{name}", serve)
	timed.HandleFunc("/{resource}/{name}/{subresource}", serve)

	timed.HandleFunc("/namespaces/{namespace}/{resource}", serve)
	timed.HandleFunc("/namespaces/{namespace}/{resource}/{name}", serve)
	timed.HandleFunc("/namespaces/{namespace}/{resource}/{name}/{subresource}", serve)

	// The legacy form: what stands below /watch is watched.
	r.Get("/watch/{resource}", watch)
	r.Get("/watch/{resource}/{name}", watch)
	r.Get("/watch/namespaces/{namespace}/{resource}", watch)
	r.Get("/watch/namespaces/{namespace}/{resource}/{name}", watch)
}

// withPath gives a handler what the path of the request names.
func withPath(serve func(w http.ResponseWriter, r *http.Request, p requestPath)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		serve(w, r, requestPath{
			Group: chi.URLParam(r, "group"), Version: chi.URLParam(r, "version"), Namespace: chi.URLParam(r, "namespace"),
			Resource: chi.URLParam(r, "resource"), Name: chi.URLParam(r, "name"), Subresource: chi.URLParam(r, "subresource"),
		})
	}
}

// methodNotAllowed names the methods that a URL has (RFC 9110, section 15.5.6).
func methodNotAllowed(w http.ResponseWriter, r *http.Request) {
	routes := chi.RouteContext(r.Context()).Routes
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if routes.Match(chi.NewRouteContext(), method, r.URL.Path) {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) > 0 && allowed[0] == http.MethodGet {
		allowed = slices.Insert(allowed, 1, http.MethodHead)
	}
	refuseMethod(w, r, strings.Join(allowed, ", "))
}

// routePattern is the pattern of the route that a request took; empty: none.
func routePattern(r *http.Request) string { return chi.RouteContext(r.Context()).RoutePattern() }
