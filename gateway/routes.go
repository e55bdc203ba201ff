package gateway

import (
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"revtail/gateway/console"
)

// handlers answer the requests of all routes.
type handlers struct {
	chain    *chain
	access   *control
	api      *apiHandler
	keys     *keysHandler
	watches  *watchService
	health   *health
	metrics  http.Handler
	watchers bool // /debug/watchers is a public route
}

// public is every URL of the product.
func (h *handlers) public() http.Handler {
	r := chi.NewRouter()
	r.Use(h.chain.count, h.chain.trace, h.chain.cutStalled, h.chain.identify, h.access.logAccess, h.chain.recoverPanic)
	r.Use(limitHeaders, limitQuery, timeBody, h.chain.checkHost, cleanPath, h.chain.shareWithOrigins, h.chain.refuseForeignWrites, h.access.admit, refuseImpersonation, onlyWatchesUpgrade)
	r.NotFound(notFound)
	r.MethodNotAllowed(methodNotAllowed)

	r.Get("/", serveRoot)
	r.Method(http.MethodGet, strings.TrimSuffix(console.Path, "/"), http.RedirectHandler(console.Path, http.StatusMovedPermanently))
	r.Method(http.MethodGet, console.Path+"*", console.Handler(http.HandlerFunc(notFound)))
	r.Get("/livez", h.health.serveLive)
	r.Get("/healthz", h.health.serveReady)
	r.Get("/readyz", h.health.serveReady)
	r.Method(http.MethodGet, "/metrics", h.metrics)
	if h.watchers {
		r.Get("/debug/watchers", h.watches.serveWatchers)
	}

	r.Get("/version", h.api.serveVersion)
	r.Get("/api", h.api.serveCoreVersions)
	complete := r.With(h.api.whenComplete)
	complete.Get("/apis", h.api.serveGroups)
	complete.Get("/apis/{group}", withPath(h.api.serveGroup))
	complete.Get("/openapi/v2", h.api.serveOpenAPIV2)
	complete.Get("/openapi/v3", h.api.serveOpenAPIIndex)
	complete.Get("/openapi/v3/*", func(w http.ResponseWriter, r *http.Request) {
		h.api.serveOpenAPI(w, r, chi.URLParam(r, "*"))
	})

	r.HandleFunc(keysPath, h.keys.serveKeys)
	r.HandleFunc(keysPath+"/*", h.keys.serveKeys)

	r.Post("/v1/txn", h.keys.serveTxn)
	r.Get("/v1/openapi.json", serveKeysOpenAPI)

	for path, serve := range h.api.reviews() {
		r.HandleFunc(path, serve)
	}
	r.Post("/v1/tickets", h.access.serveTickets)
	r.Route("/api/{version}", h.resourceRoutes)
	r.Route("/apis/{group}/{version}", h.resourceRoutes)
	return headIsGet(r)
}

// resourceRoutes are the URLs of one group and version. A name in the place of {resource} that is not one of a resource is
// answered with 404 by locate.
func (h *handlers) resourceRoutes(r chi.Router) {
	r.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) { refuseMethod(w, r, "GET, HEAD") })
	r.With(h.api.whenComplete).Get("/", withPath(h.api.serveResources))
	timed, serve, watch := r.With(h.chain.limitTime), withPath(h.api.serveResource), withPath(h.api.serveLegacyWatch)
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
