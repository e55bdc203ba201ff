package gateway

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"revtail/gateway/access"
	"revtail/gateway/api"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/discovery"
	"revtail/gateway/api/mount"
	"revtail/gateway/api/storage"
	"revtail/gateway/http/response"
	"revtail/gateway/keys"
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/metrics"
	"revtail/gateway/middleware"
	"revtail/gateway/netio/http2"
	"revtail/gateway/netio/socket"
	"revtail/gateway/watch"
	"revtail/gateway/watch/eventloop"
	"revtail/gateway/watch/transport"
	"revtail/gateway/watchcache/filter"
)

// Server answers HTTP requests. It serves resources while Run runs.
type Server struct {
	catalog *catalog.Catalog
	store   *storage.Store
	watches *watch.Service
	loops   *eventloop.Pool
	keys    *keys.Handler
	access  *access.Control
	handler http.Handler
	admin   http.Handler
}

// New returns a server of the built-in kinds and of options.Mounts. The error says which option is wrong.
func New(options Options) (*Server, error) {
	if err := options.complete(); err != nil {
		return nil, err
	}
	own := options.Store
	if options.Claim != nil {
		options.Store, own = options.Claim.ForClients(), options.Claim.ForItself()
	}
	policy, err := keyrange.NewPolicy(options.Keys, options.KeysWritable, options.Prefix)
	if err != nil {
		return nil, fmt.Errorf("gateway: Options.Keys: %w", err)
	}
	s := new(Server)
	s.catalog, err = catalog.New(catalog.Config{
		Store: options.Store, Own: own, Prefix: options.Prefix, Claim: options.Claim, Logger: options.Logger, Mounts: options.Mounts,
	})
	if err != nil {
		return nil, err
	}
	responder, filters := response.NewResponder(options.Logger), filter.NewCache()
	s.access = access.NewControl(responder, options.Logger, options.Authenticator, options.Policy, options.Audit)
	s.store = storage.New(storage.Config{
		Etcd: options.Store, Prefix: options.Prefix, Claim: options.Claim, Catalog: s.catalog, Logger: options.Logger, Audit: s.access.AuditOwn,
		Collect: options.GarbageCollector, CollectLimit: options.GarbageCollectorLimit,
	})
	chain := &middleware.Chain{
		Responder: responder, Logger: options.Logger, Requests: metrics.NewRequests(), Tracing: options.Tracing, Route: routePattern,
		WriteTimeout: socket.WriteTimeout, Anonymous: s.access.Authenticator.Anonymous, Origins: options.Origins, Hosts: options.Hosts,
	}
	s.loops = eventloop.New(options.Logger)
	s.watches = &watch.Service{
		Opener: transport.NewOpener(options.Origins, responder.Compressors), Adopter: s.loops, HTTP2: http2.Of,
		Access: s.access, Responder: responder, Logger: options.Logger, Opened: chain.EndSpan,
	}
	if options.Authenticator != nil || options.Policy != nil {
		s.watches.Registry.Limit = options.MaxWatches
	}
	s.keys = keys.New(keys.Config{
		Store: options.Store, Own: own, Policy: policy, Access: s.access, Claim: options.Claim, Filters: filters, Responder: responder,
		Logger: options.Logger, Watches: s.watches,
	})
	health := &health{etcd: options.Store, catalog: s.catalog, claim: options.Claim, collector: s.store.Collector,
		shuttingDown: s.watches.Registry.ShuttingDown, problems: options.Problems}
	handlers := &handlers{
		chain: chain, access: s.access, keys: s.keys, watches: s.watches, health: health, watchers: options.Watchers,
		api: &api.Handler{
			Catalog: s.catalog, Store: s.store, Responder: responder, Access: s.access, Filters: filters, Claim: options.Claim,
			Version: options.Version, Watches: s.watches,
		},
		metrics: metrics.Handler(discovery.BuildOf(options.Version), metrics.Source{Caches: s.figures, Watches: s.watchFigures},
			slices.Concat(options.Metrics, filters.Collectors(), health.collectors(), []prometheus.Collector{chain.Requests, responder.Refused})...),
	}
	s.handler, s.admin = handlers.public(), handlers.admin()
	return s, nil
}

// Run keeps the caches up to date until ctx ends; when it returns, all that it started has ended. It is called once.
func (s *Server) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	s.loops.Open(ctx) // before anything is ready
	s.keys.Start(ctx, &running)
	running.Go(func() { s.catalog.Run(ctx, s.store) })
	running.Go(func() { s.store.Run(ctx) })
	running.Go(func() { s.loops.Run(ctx) })
	if !s.access.Unrestricted() {
		running.Go(func() { s.watches.Revalidate(ctx) })
	}
	<-ctx.Done()
	return nil
}

// WaitReady waits until every cache has been filled, or returns ctx's error.
func (s *Server) WaitReady(ctx context.Context) error { return s.catalog.WaitReady(ctx) }

// CheckMounts returns what stands against mounts: in themselves, and in what is defined in etcd.
func (s *Server) CheckMounts(ctx context.Context, wanted []mount.Mount) error {
	return s.catalog.CheckMounts(ctx, wanted)
}

// Remount serves other mounts from now on, while the server runs. Mounts that stay as they are keep their watches; watches of
// those that go end, and watches of those that become others end with 410. An error leaves all as it was.
func (s *Server) Remount(ctx context.Context, wanted []mount.Mount) error {
	return s.catalog.Remount(ctx, wanted)
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.watches.ServeHTTP(s.handler, w, r)
}

// StartDraining makes /readyz answer 503, so that load balancers turn away; everything else goes on.
func (s *Server) StartDraining() { s.watches.Registry.AnnounceDrain() }

// Drain ends every watch, each with what it still has to deliver and, where its client wants them, a last bookmark; new ones
// are refused with 429. It returns when all have ended, or with ctx's error.
func (s *Server) Drain(ctx context.Context) error { return s.watches.Registry.Drain(ctx) }

// Departed is how many watches have ended.
func (s *Server) Departed() uint64 { return s.watches.Stats.Departed() }

// Admin returns the handler of what only operators may see: the open watches, profiles, and the metrics. It authenticates no request:
// serve it on a listener that only operators reach.
func (s *Server) Admin() http.Handler { return s.admin }

// Alive takes the locks that requests need, and returns. A gateway in which it does not return is stuck.
func (s *Server) Alive() {
	s.figures()
	s.watchFigures()
	s.watches.Registry.ShuttingDown()
}
