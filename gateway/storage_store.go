package gateway

import (
	"context"
	"log/slog"

	"revtail/etcdstore"
	"revtail/gateway/api/garbage"
	"revtail/gateway/claim"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

const (
	// requestsKey is the beginning of the keys of the records of DELETE requests.
	requestsKey = "revtail/deleted"
	// leaderKey is the beginning of the keys by which gateways agree on one that collects garbage. Users' prefixes begin with a slash.
	leaderKey = "revtail/leader"
)

// storeConfig says what a store reads and writes.
type storeConfig struct {
	etcd         etcdstore.Store
	prefix       string       // of all resources
	claim        *claim.Claim // nil: the data is revtail's own
	catalog      *catalog
	logger       *slog.Logger
	collect      bool                                                               // delete objects whose owners are gone
	collectLimit int                                                                // see garbage.Config
	audit        func(res *resource.Resource, scope resource.Scope, because string) // records a deletion without a client's request
}

// store reads and writes objects, on optimistic concurrency.
type store struct {
	storeConfig
	namespaces *watchcache.Cache
	collector  *garbage.Collector
	requests   *garbage.Requests // the DELETE requests for owners
}

// newStore returns a store of what the catalog serves, now and later.
func newStore(config storeConfig) *store {
	s := &store{storeConfig: config, requests: garbage.NewRequests(config.etcd, requestsKey+config.prefix+"/")}
	gc := garbage.Config{
		Store: s.etcd, Permit: s.claim.Verify, Key: leaderKey + s.prefix, Owners: s.collect,
		Requests: s.requests, Limit: s.collectLimit, Logger: s.logger,
	}
	now := s.catalog.current()
	for res, cache := range now.caches {
		if res.IsNamespaces() {
			s.namespaces, gc.Namespaces = cache.Cache, s.gcResource(res, cache)
			gc.Removed = func(name string) {
				s.audit(res, resource.Scope{Name: name}, "it was being deleted, and nothing is left in it")
			}
		}
	}
	s.collector = garbage.New(gc)
	s.catalog.changed, s.catalog.deleteObjects = s.serve, s.deleteAll
	s.serve(now)
	return s
}

// run collects garbage until ctx ends, from the moment on when everything is served and the data is revtail's own.
func (s *store) run(ctx context.Context) {
	if s.catalog.waitReady(ctx) == nil && s.claim.WaitOwned(ctx) == nil {
		s.collector.Run(ctx)
	}
}
