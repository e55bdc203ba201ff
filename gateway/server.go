package gateway

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"revtail/gateway/api/mount"
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/metrics"
	"revtail/gateway/netio/http2"
	"revtail/gateway/netio/socket"
	"revtail/gateway/watchcache/filter"
)

// Server answers HTTP requests. It serves resources while Run runs.
type Server struct {
	catalog *catalog
	store   *store
	watches *watchService
	loops   *loopPool
	keys    *keysHandler
	access  *control
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
	s.catalog, err = newCatalog(catalogConfig{
		store: options.Store, own: own, prefix: options.Prefix, claim: options.Claim, logger: options.Logger, mounts: options.Mounts,
	})
	if err != nil {
		return nil, err
	}
	responder, filters := newResponder(options.Logger), filter.NewCache()
	s.access = newControl(responder, options.Logger, options.Authenticator, options.Policy, options.Audit)
	s.store = newStore(storeConfig{
		etcd: options.Store, prefix: options.Prefix, claim: options.Claim, catalog: s.catalog, logger: options.Logger, audit: s.access.auditOwn,
		collect: options.GarbageCollector, collectLimit: options.GarbageCollectorLimit,
	})
	chain := &chain{
		responder: responder, logger: options.Logger, requests: metrics.NewRequests(), tracing: options.Tracing, route: routePattern,
		writeTimeout: socket.WriteTimeout, anonymous: s.access.authenticator.Anonymous, origins: options.Origins, hosts: options.Hosts,
	}
	s.loops = newLoopPool(options.Logger)
	s.watches = &watchService{
		opener: newStreamOpener(options.Origins, responder.compressors), adopter: s.loops, http2: http2.Of,
		access: s.access, responder: responder, logger: options.Logger, opened: chain.opened,
	}
	if options.Authenticator != nil || options.Policy != nil {
		s.watches.registry.limit = options.MaxWatches
	}
	s.keys = newKeysHandler(keysConfig{
		store: options.Store, own: own, policy: policy, access: s.access, claim: options.Claim, filters: filters, responder: responder,
		logger: options.Logger, watches: s.watches,
	})
	health := &health{etcd: options.Store, catalog: s.catalog, claim: options.Claim, collector: s.store.collector,
		shuttingDown: s.watches.registry.shuttingDown, problems: options.Problems}
	handlers := &handlers{
		chain: chain, access: s.access, keys: s.keys, watches: s.watches, health: health, watchers: options.Watchers,
		api: &apiHandler{
			catalog: s.catalog, store: s.store, responder: responder, access: s.access, filters: filters, claim: options.Claim,
			version: options.Version, watches: s.watches,
		},
		metrics: metrics.Handler(buildOf(options.Version), metrics.Source{Caches: s.figures, Watches: s.watchFigures},
			slices.Concat(options.Metrics, filters.Collectors(), health.collectors(), []prometheus.Collector{chain.requests, responder.refused})...),
	}
	s.handler, s.admin = handlers.public(), handlers.admin()
	return s, nil
}

// Run keeps the caches up to date until ctx ends; when it returns, all that it started has ended. It is called once.
func (s *Server) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	s.loops.open(ctx) // before anything is ready
	s.keys.start(ctx, &running)
	running.Go(func() { s.catalog.run(ctx) })
	running.Go(func() { s.store.run(ctx) })
	running.Go(func() { s.loops.run(ctx) })
	if !s.access.open() {
		running.Go(func() { s.watches.revalidate(ctx) })
	}
	<-ctx.Done()
	return nil
}

// WaitReady waits until every cache has been filled, or returns ctx's error.
func (s *Server) WaitReady(ctx context.Context) error { return s.catalog.waitReady(ctx) }

// CheckMounts returns what stands against mounts: in themselves, and in what is defined in etcd.
func (s *Server) CheckMounts(ctx context.Context, wanted []mount.Mount) error {
	return s.catalog.checkMounts(ctx, wanted)
}

// Remount serves other mounts from now on, while the server runs. Mounts that stay as they are keep their watches; watches of
// those that go end, and watches of those that become others end with 410. An error leaves all as it was.
func (s *Server) Remount(ctx context.Context, wanted []mount.Mount) error {
	return s.catalog.remount(ctx, wanted)
}

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

// Admin returns the handler of what only operators may see: the open watches, profiles, and the metrics. It authenticates no request:
// serve it on a listener that only operators reach.
func (s *Server) Admin() http.Handler { return s.admin }

// Alive takes the locks that requests need, and returns. A gateway in which it does not return is stuck.
func (s *Server) Alive() {
	s.figures()
	s.watchFigures()
	s.watches.registry.shuttingDown()
}
