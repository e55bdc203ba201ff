package gateway

import (
	"net/http"
	"net/http/pprof"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/gateway/access"
	"revtail/gateway/access/serviceaccount"
	"revtail/gateway/api"
	"revtail/gateway/api/upstream"
	"revtail/gateway/console"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/keys"
	"revtail/gateway/middleware"
	"revtail/gateway/watch"
)

// handlers are the handlers of all routes.
type handlers struct {
	chain   *middleware.Chain
	access  *access.Control
	api     *api.Handler
	keys    *keys.Handler
	watches *watch.Service
	health  *health
	metrics http.Handler
	debug   bool // /debug/watchers and /debug/flows are public routes

	upstream  *upstream.Proxy        // nil: the server answers all requests
	forwarded []schema.GroupResource // whose reads it answers too
}

// public returns the handler of all public URLs. The order of the middleware matters: LimitQuery parses the query and CleanPath the path
// for all that follow, and Authenticate runs before routing, so that 403 does not reveal whether a resource exists.
func (h *handlers) public() http.Handler {
	r := chi.NewRouter()
	r.Use(h.chain.CountRequests, h.chain.Trace, h.chain.LimitWrites, h.chain.SetHeaders, h.access.Log, h.chain.RecoverPanic)
	r.Use(middleware.LimitHeaders, middleware.LimitQuery, middleware.LimitBody, h.chain.CheckHost, h.forward, middleware.CleanPath)
	r.Use(h.chain.AllowOrigins, h.chain.RefuseCrossOriginWrites, h.access.Authenticate)
	r.Use(middleware.DropGetBody, middleware.RefuseUpgrades, h.chain.ShareRequests)
	r.NotFound(response.NotFound)
	r.MethodNotAllowed(methodNotAllowed)

	r.Get("/", serveRoot)
	r.Method(http.MethodGet, strings.TrimSuffix(console.Path, "/"), http.RedirectHandler(console.Path, http.StatusMovedPermanently))
	r.Method(http.MethodGet, console.Path+"*", console.Handler(http.HandlerFunc(response.NotFound)))
	r.Get(console.IconPath, console.Icon)
	r.Get("/healthz", h.health.serveReady)
	h.operations(r)
	if h.debug {
		h.operators(r)
	}

	r.Get("/version", h.api.ServeVersion)
	r.Get("/api", h.api.ServeCoreVersions)
	complete := r.With(h.api.WhenComplete)
	complete.Get("/apis", h.api.ServeGroups)
	complete.Get("/apis/{group}", h.api.ServeGroup)
	complete.Get("/openapi/v2", h.api.ServeOpenAPIV2)
	complete.Get("/openapi/v3", h.api.ServeOpenAPIIndex)
	complete.Get("/openapi/v3/*", func(w http.ResponseWriter, r *http.Request) { h.api.ServeOpenAPI(w, r, chi.URLParam(r, "*")) })

	r.HandleFunc(request.KeysPath, h.keys.ServeKeys)
	r.HandleFunc(request.KeysPath+"/*", h.keys.ServeKeys)

	r.Get(request.HistoryPath, h.api.ServeHistory)
	r.Get(request.HistoryExportPath, h.api.ServeHistoryExport)
	r.Post("/v1/txn", h.keys.ServeTxn)
	r.Get("/v1/openapi.json", keys.ServeOpenAPI)

	for path, serve := range h.api.Virtual() {
		r.HandleFunc(path, serve)
	}
	if issuer := h.api.Tokens; issuer != nil {
		r.Get(serviceaccount.ConfigurationPath, issuer.ServeConfiguration)
		r.Get(serviceaccount.KeysPath, issuer.ServeKeys)
	}
	r.Post("/v1/tickets", h.access.ServeTickets)
	r.Route("/api/{version}", h.resourceRoutes)
	r.Route("/apis/{group}/{version}", h.resourceRoutes)
	return request.HeadIsGet(r)
}

// admin returns the handler of the operators' listener. It authenticates no request, and
// refuses those of foreign pages.
func (h *handlers) admin() http.Handler {
	r := chi.NewRouter()
	r.Use(h.chain.SetHeaders, h.chain.RecoverPanic, h.chain.RefuseForeignHosts, h.chain.RefuseCrossOrigin)
	h.operations(r)
	h.operators(r)
	r.Get("/debug/pprof/*", pprof.Index)
	r.Get("/debug/pprof/cmdline", pprof.Cmdline)
	r.Get("/debug/pprof/profile", pprof.Profile)
	r.Get("/debug/pprof/symbol", pprof.Symbol)
	r.Get("/debug/pprof/trace", pprof.Trace)
	return request.HeadIsGet(r)
}

// debugPaths are the paths of operators.
var debugPaths = []string{"/debug/watchers", "/debug/flows"}

// operators adds what only operators may see.
func (h *handlers) operators(r chi.Router) {
	r.Get(debugPaths[0], h.watches.ServeWatchers)
	r.Get(debugPaths[1], access.ServeFlows(h.chain.Flows, h.watches.Processor))
}

// operations adds the routes that both listeners have.
func (h *handlers) operations(r chi.Router) {
	r.Get("/livez", func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok") })
	r.Get("/readyz", h.health.serveReady)
	r.Method(http.MethodGet, "/metrics", h.metrics)
}

// resourceRoutes are the URLs of one group and version. ServeResource reads the URL itself and answers 404 for an unknown resource.
func (h *handlers) resourceRoutes(r chi.Router) {
	r.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) { response.MethodNotAllowed(w, r, "GET, HEAD") })
	r.With(h.api.WhenComplete).Get("/", h.api.ServeResources)
	serve := h.chain.LimitTime(http.HandlerFunc(h.api.ServeResource))
	for _, namespace := range []string{"", "/namespaces/{namespace}"} {
		collection := namespace + "/{resource}"
		object := collection + "/{name}"
		r.Handle(collection, serve)
		r.Handle(object, serve)
		r.Handle(object+"/{subresource}", serve)
		r.Handle(object+"/proxy/*", serve)
		r.Method(http.MethodGet, "/watch"+collection, serve) // the legacy form of a watch
		r.Method(http.MethodGet, "/watch"+object, serve)
	}
}

// methodNotAllowed answers a request with a method that the URL does not have. It lists those that the URL has (RFC 9110, section 15.5.6).
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
	response.MethodNotAllowed(w, r, strings.Join(allowed, ", "))
}

// routePattern returns the pattern of the route that matched a request; empty: none.
func routePattern(r *http.Request) string { return chi.RouteContext(r.Context()).RoutePattern() }

// serveRoot lists the paths of the server, and redirects a browser to the console.
func serveRoot(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Accept")
	if response.WantsHTML(r) {
		http.Redirect(w, r, console.Path, http.StatusSeeOther)
		return
	}
	writeText(w, http.StatusOK, `revtail: list and watch etcd over HTTP

  /api/v1, /apis            which resources there are; try /api/v1/configmaps?watch=true
  /v1/keys, /v1/txn         any key of etcd that is opened; /v1/openapi.json describes that
  /v1/history               what has changed, where --history-dir records it
  /ui/                      a page that shows all this, for a browser
  /readyz?verbose, /livez   health
  /metrics                  figures for Prometheus
  /version                  what runs here
`)
}
