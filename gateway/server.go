package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"revtail/etcdstore"
	"revtail/gateway/access/audit"
	"revtail/gateway/access/authentication"
	"revtail/gateway/access/authorization"
	"revtail/gateway/api/mount"
	"revtail/gateway/claim"
	"revtail/gateway/config/reload"
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/metrics"
	"revtail/gateway/netio/http2"
	"revtail/gateway/watchcache/filter"
)

// Options say what a Server serves.
type Options struct {
	Store   etcdstore.Store // needed; the caller closes it after Run has returned
	Prefix  string          // needed: where resources live in etcd, for example /registry
	Claim   *claim.Claim    // whose data lies there, in Store; nil: it is the gateway's own
	Logger  *slog.Logger    // nil: slog.Default()
	Version string          // of the program, for /version; empty: unknown

	Mounts []mount.Mount // prefixes of etcd that are shown as resources; New and CheckMounts say what is wrong with them

	Keys         []string // and prefixes, which end with a slash, that the keys API may read; "*": every key
	KeysWritable []string // the same, to be read and written

	Watchers bool // /debug/watchers is served with everything else; otherwise Admin alone has it

	Metrics  []prometheus.Collector // more of them for /metrics
	Tracing  trace.TracerProvider   // gets a span of each request; nil: none
	Problems func() []string        // of etcd, that keep nothing from being served but are to be known, for /readyz?verbose; nil: nobody looks

	GarbageCollector      bool // delete objects whose owners, by their ownerReferences, are all gone
	GarbageCollectorLimit int  // how many in an hour where nobody sent a DELETE request for an owner; zero: 100, and a tenth of a resource

	Authenticator *authentication.Authenticator       // nil: nobody is asked who they are
	Policy        *reload.File[*authorization.Policy] // nil: everybody who is let in may do everything
	Audit         *audit.Log                          // nil: nobody writes down who did what
	Origins       []string                            // of pages that may read and write here, as https://example.com
	Hosts         []string                            // names of this server beside localhost
	MaxWatches    int                                 // of one user, where users are asked who they are; zero: no limit
}

// Server answers HTTP requests. It serves resources while Run runs.
type Server struct {
	options   Options
	catalog   *catalog
	handler   http.Handler
	responder *responder
	access    *control
	watches   *watchService
	loops     *loopPool
	metrics   http.Handler
	chain     *chain
	keys      *keysHandler
	store     *store
	api       *apiHandler

	filters *filter.Cache
}

// New makes a server of the built-in kinds.
func New(options Options) (*Server, error) {
	if options.Store == nil {
		return nil, errors.New("gateway: Options.Store is required")
	}
	if options.Prefix == "" || options.Prefix[0] != '/' {
		return nil, errors.New("gateway: Options.Prefix is required and begins with a slash")
	}
	for _, origin := range options.Origins {
		if err := http.NewCrossOriginProtection().AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("gateway: Options.Origins: %w", err)
		}
	}
	if options.Logger == nil {
		options.Logger = slog.Default()
	}
	own := options.Store
	if options.Claim != nil {
		options.Store, own = options.Claim.ForClients(), options.Claim.ForItself()
	}
	policy, err := keyrange.NewPolicy(options.Keys, options.KeysWritable, options.Prefix)
	if err != nil {
		return nil, fmt.Errorf("gateway: Options.Keys: %w", err)
	}
	s := &Server{
		options:   options,
		loops:     &loopPool{logger: options.Logger, writeTimeout: writeTimeout, endTimeout: initialEventsTimeout},
		responder: &responder{logger: options.Logger, refused: newRefusals(), compressors: newCompressors()},

		filters: filter.NewCache(),
	}
	s.access = newControl(options, s.responder)
	s.chain = &chain{
		responder: s.responder, logger: options.Logger, requests: metrics.NewRequests(), tracing: options.Tracing, route: routePattern,
		anonymous: s.access.authenticator.Anonymous, origins: options.Origins, hosts: options.Hosts,
	}
	s.watches = &watchService{
		opener: newStreamOpener(options.Origins, s.responder.compressors), adopter: s.loops, http2: http2.Of,
		access: s.access, responder: s.responder, logger: options.Logger, opened: s.chain.opened,
	}
	if options.Authenticator != nil || options.Policy != nil {
		s.watches.registry.limit = options.MaxWatches
	}
	s.keys = newKeysHandler(keysConfig{
		store: options.Store, own: own, policy: policy, access: s.access, claim: options.Claim, filters: s.filters, responder: s.responder, logger: options.Logger,
		watches: s.watches,
	})
	s.catalog, err = newCatalog(catalogConfig{
		store: options.Store, own: own, prefix: options.Prefix, claim: options.Claim, logger: options.Logger, mounts: options.Mounts,
	})
	if err != nil {
		return nil, err
	}
	s.store = s.newStore()
	s.catalog.changed, s.catalog.deleteObjects = s.store.serve, s.store.deleteAll
	s.store.serve(s.catalog.current())
	s.metrics = metrics.Handler(buildOf(options.Version), metrics.Source{Caches: s.figures, Watches: s.watchFigures}, slices.Concat(options.Metrics, s.filters.Collectors(), s.claimCollectors(), []prometheus.Collector{s.chain.requests, s.responder.refused})...)
	s.api = &apiHandler{
		catalog: s.catalog, store: s.store, responder: s.responder, access: s.access, filters: s.filters, claim: options.Claim,
		version: options.Version, watches: s.watches,
	}
	s.handler = s.routes()
	return s, nil
}

// Run keeps the caches up to date until ctx ends; when it returns, all that it started has ended. It is called once.
func (s *Server) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	s.loops.open(ctx) // before anything is ready
	s.keys.start(ctx, &running)
	running.Go(func() { s.catalog.run(ctx) })
	running.Go(func() { s.loops.run(ctx) })
	if !s.access.open() {
		running.Go(func() { s.watches.revalidate(ctx) })
	}
	running.Go(func() {
		if s.WaitReady(ctx) == nil && s.options.Claim.WaitOwned(ctx) == nil {
			s.store.collector.Run(ctx)
		}
	})
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

// figures are those of all caches, for /metrics.
func (s *Server) figures() []metrics.Cache {
	return append(s.catalog.figures(), s.keys.figures()...)
}
