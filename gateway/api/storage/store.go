package storage

import (
	"context"
	"log/slog"

	"revtail/etcdstore"
	"revtail/gateway/api/catalog"
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

// Config says what a store reads and writes.
type Config struct {
	Etcd         etcdstore.Store
	Prefix       string       // of all resources
	Claim        *claim.Claim // nil: the data is revtail's own
	Catalog      *catalog.Catalog
	Logger       *slog.Logger
	Collect      bool                                                               // delete objects whose owners are gone
	CollectLimit int                                                                // see garbage.Config
	Audit        func(res *resource.Resource, scope resource.Scope, because string) // records a deletion without a client's request
}

// Store reads and writes objects, on optimistic concurrency.
type Store struct {
	Config
	namespaces *watchcache.Cache
	Collector  *garbage.Collector
	requests   *garbage.Requests // the DELETE requests for owners
}

// New returns a store of what the catalog serves, now and later.
func New(config Config) *Store {
	s := &Store{Config: config, requests: garbage.NewRequests(config.Etcd, requestsKey+config.Prefix+"/")}
	gc := garbage.Config{
		Store: s.Etcd, Permit: s.Claim.Verify, Key: leaderKey + s.Prefix, Owners: s.Collect,
		Requests: s.requests, Limit: s.CollectLimit, Logger: s.Logger,
	}
	now := s.Catalog.Current()
	for res, cache := range now.Caches {
		if res.IsNamespaces() {
			s.namespaces, gc.Namespaces = cache.Cache, s.gcResource(res, cache)
			gc.Removed = func(name string) {
				s.Audit(res, resource.Scope{Name: name}, "it was being deleted, and nothing is left in it")
			}
		}
	}
	s.Collector = garbage.New(gc)
	s.Serve(now)
	return s
}

// Run collects garbage until ctx ends, from the moment on when everything is served and the data is revtail's own.
func (s *Store) Run(ctx context.Context) {
	if s.Catalog.WaitReady(ctx) == nil && s.Claim.WaitOwned(ctx) == nil {
		s.Collector.Run(ctx)
	}
}
