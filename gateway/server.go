package gateway

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"revtail/gateway/access"
	"revtail/gateway/access/cputime"
	"revtail/gateway/access/flowcontrol"
	"revtail/gateway/api"
	"revtail/gateway/api/apiservices"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/forms"
	"revtail/gateway/api/mount"
	"revtail/gateway/api/quota"
	"revtail/gateway/api/servicecidrs"
	"revtail/gateway/api/storage"
	"revtail/gateway/http/response"
	"revtail/gateway/keys"
	"revtail/gateway/keys/keyrange"
	"revtail/gateway/keys/timeline"
	"revtail/gateway/metrics"
	"revtail/gateway/middleware"
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
	routes  *handlers
	watches *watch.Service
	loops   *eventloop.Pool
	keys    *keys.Handler
	handler http.Handler
	admin   http.Handler
}

// New returns a server of the built-in kinds and of options.Mounts. The error names the option that is wrong.
func New(options Options) (*Server, error) {
	if err := options.complete(); err != nil {
		return nil, err
	}
	own := options.guard()
	policy, err := keyrange.NewPolicy(options.Keys, options.KeysWritable, options.Prefix)
	if err != nil {
		return nil, fmt.Errorf("gateway: Options.Keys: %w", err)
	}
	flows := flowcontrol.NewPools(options.Limits, options.Logger)
	options.Store = flowcontrol.LimitWrites(options.Store, flows.Writes)
	resources, err := catalog.New(catalog.Config{
		Store: options.Store, Own: own, Prefix: options.Prefix, Claim: options.Claim, Logger: options.Logger, Mounts: options.Mounts, Cluster: options.Cluster, File: options.File,
	})
	if err != nil {
		return nil, err
	}
	line := timeline.New(own, options.recorder(), options.Logger)
	responder, filters, loops := response.NewResponder(options.Logger), filter.NewCache(), eventloop.New(options.Logger)
	control := access.NewControl(responder, options.Logger, options.Authenticator, options.Policy, options.Delegate, options.Audit)
	chain := &middleware.Chain{
		Responder: responder, Logger: options.Logger, Requests: metrics.NewRequests(), Flows: flows, Tracing: options.Tracing, Route: routePattern,
		WriteTimeout: socket.WriteTimeout, Anonymous: control.Authenticator.Anonymous, Origins: options.Origins, Hosts: options.Hosts,
	}
	watches := &watch.Service{
		Opener: transport.NewOpener(options.Origins, responder.Compressors), Adopter: loops,
		Access: control, Processor: cputime.New(0), Responder: responder, Logger: options.Logger, Opened: chain.EndSpan,
	}
	watches.Registry.Pool = flows.Watches
	store, err := options.newStore(resources, control)
	if err != nil {
		return nil, err
	}
	s := &Server{
		catalog: resources, store: store, loops: loops, watches: watches,
		keys: keys.New(keys.Config{
			Store: options.Store, Timeline: line, Policy: policy, Access: control, Claim: options.Claim, Filters: filters, Responder: responder,
			Logger: options.Logger, Watches: watches, Flows: flows,
		}),
	}
	if options.ServiceAccounts != nil {
		options.ServiceAccounts.Open(s.store)
	}
	s.routes = s.handlers(options, control, chain, filters, line)
	s.handler, s.admin = s.routes.public(), s.routes.admin()
	return s, nil
}

// handlers returns the handlers of all routes.
func (s *Server) handlers(options Options, control *access.Control, chain *middleware.Chain, filters *filter.Cache, line *timeline.Timeline) *handlers {
	health := &health{etcd: options.Store, catalog: s.catalog, claim: options.Claim, collector: s.store.Collector,
		shuttingDown: s.watches.Registry.ShuttingDown, problems: options.Problems, encryption: options.EncryptionProblems, decryption: options.EncryptionFailure, upstream: options.UpstreamProblems}
	if options.Upstream != nil {
		options.Upstream.AuthorizeBy(control.Authorize)
	}
	return &handlers{
		upstream: options.Upstream, forwarded: options.Forwarded, chain: chain, access: control, keys: s.keys, watches: s.watches, health: health, debug: options.Debug,
		api: &api.Handler{
			Catalog: s.catalog, Store: s.store, APIServices: apiservices.New(s.store), Responder: chain.Responder, Access: control, Tokens: options.ServiceAccounts, Filters: filters, Claim: options.Claim, OpenKey: s.keys.Open,
			Build: options.Build, Watches: s.watches, Flows: chain.Flows, Timeline: line, History: options.History, Forms: forms.Store{Most: options.Limits.FormBytes()},
		},
		metrics: metrics.Handler(options.Build, metrics.Source{Caches: s.figures, Watches: s.watchFigures},
			slices.Concat(options.Metrics, filters.Collectors(), s.watches.Processor.Collectors(), health.collectors(), []prometheus.Collector{chain.Requests, chain.Flows, chain.Responder.Refused})...),
	}
}

// Run fills the caches and keeps them up to date until ctx ends. When it returns, all goroutines that it started have ended. It is called
// once, and returns nil.
func (s *Server) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	s.loops.Open(ctx) // before a cache is ready, because a watch may then be adopted
	s.keys.Start(ctx, &running)
	running.Go(func() { s.catalog.Run(ctx, s.store) })
	running.Go(func() { s.store.Run(ctx) })
	if !s.catalog.Cluster && !s.catalog.File { // otherwise nothing is written
		running.Go(func() { s.routes.api.APIServices.Run(ctx) })
		running.Go(func() { servicecidrs.Run(ctx, s.store) })
		running.Go(func() { s.store.Admission.Run(ctx, quota.Statuses{Store: s.store}) })
	}
	running.Go(func() { s.keepQuotas(ctx) })
	running.Go(func() { s.loops.Run(ctx) })
	if !s.routes.access.Unrestricted() {
		running.Go(func() { s.watches.Revalidate(ctx) })
	}
	<-ctx.Done()
	return nil
}

// keepQuotas keeps the status of ResourceQuotas, unless kube-controller-manager does, or another program owns the data.
func (s *Server) keepQuotas(ctx context.Context) {
	if s.store.CollectedElsewhere || s.store.Claim.WaitOwned(ctx) != nil {
		return
	}
	quota.Run(ctx, quota.Config{Catalog: s.catalog, Usage: s.store.Admission.Usage, Statuses: quota.Statuses{Store: s.store}, Logger: s.store.Logger})
}

// WaitReady waits until every cache is filled, or returns the error of ctx.
func (s *Server) WaitReady(ctx context.Context) error { return s.catalog.WaitReady(ctx) }

// Probe reads one value of each resource, so that the store finds out whether it can decrypt them.
func (s *Server) Probe(ctx context.Context) error { return s.catalog.Probe(ctx) }

// Bootstrap creates the objects that a kube-apiserver creates in every cluster, if they are missing.
func (s *Server) Bootstrap(ctx context.Context) error { return api.Bootstrap(ctx, s.store) }

// CheckMounts returns an error if Remount would refuse mounts: because of themselves, or of custom resources in etcd.
func (s *Server) CheckMounts(ctx context.Context, wanted []mount.Mount) error {
	return s.catalog.CheckMounts(ctx, wanted)
}

// Remount replaces the mounts while the server runs. Watches of unchanged mounts stay open, those of removed mounts end, and those of
// changed mounts end with 410. An error changes nothing.
func (s *Server) Remount(ctx context.Context, wanted []mount.Mount) error {
	return s.catalog.Remount(ctx, wanted)
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.handler.ServeHTTP(w, r)
}

// StartDraining makes /readyz answer 503, so that load balancers send no more requests. Requests are still served.
func (s *Server) StartDraining() { s.watches.Registry.AnnounceDrain() }

// Drain ends all watches and refuses new ones with 429. A watch ends after its pending events and, if its client wants bookmarks, a last
// bookmark. Drain returns when all watches have ended, or with the error of ctx.
func (s *Server) Drain(ctx context.Context) error { return s.watches.Registry.Drain(ctx) }

// Departed returns the number of watches that have ended.
func (s *Server) Departed() uint64 { return s.watches.Stats.Departed() }

// Admin returns the handler of the operators' listener: the open watches, profiles and the metrics. It authenticates no request, so only
// operators may reach the listener.
func (s *Server) Admin() http.Handler { return s.admin }

// Alive takes the locks that requests need, and returns. If it does not return, the gateway is stuck.
func (s *Server) Alive() {
	s.figures()
	s.watchFigures()
	s.watches.Registry.ShuttingDown()
}

// figures returns the figures of all caches, for /metrics.
func (s *Server) figures() []metrics.Cache {
	return append(s.catalog.Figures(), s.keys.Figures()...)
}

// watchFigures returns the figures of all watches, for /metrics.
func (s *Server) watchFigures() metrics.Watches {
	out := s.watches.Stats.Figures()
	out.Delays = append(out.Delays, s.loops.Delays()...)
	return out
}
