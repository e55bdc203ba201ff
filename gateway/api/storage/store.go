package storage

import (
	"context"
	"log/slog"
	"sync"

	"revtail/etcdstore"
	"revtail/gateway/api/addresses"
	"revtail/gateway/api/admission"
	"revtail/gateway/api/catalog"
	"revtail/gateway/api/garbage"
	"revtail/gateway/claim"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

const (
	// requestsKey is the prefix of the keys of the records of DELETE requests.
	requestsKey = "revtail/deleted"
	// leaderKey is the prefix of the keys of the garbage collector's elections. Users' prefixes begin with a slash.
	leaderKey = "revtail/leader"
)

// Config configures a Store.
type Config struct {
	Etcd               etcdstore.Store
	Prefix             string       // of all resources
	Claim              *claim.Claim // nil: the data is revtail's own
	Catalog            *catalog.Catalog
	Logger             *slog.Logger
	Admission          *admission.Chain // of clients' writes; nil: everything is admitted
	Collect            bool             // delete objects whose owners are gone
	CollectedElsewhere bool             // another program does, empties namespaces, and does what propagation policies say
	CollectLimit       int              // see garbage.Config
	GracefulDeletion   bool             // Pods on a node stay until a kubelet deletes them

	Addresses *addresses.Allocator // of Services; nil: they have those that clients choose

	CreateNamespaces  bool                                                               // those of the system, at the start
	RequireNamespaces bool                                                               // nothing is created in a namespace without one; implies CreateNamespaces
	Audit             func(res *resource.Resource, scope resource.Scope, because string) // records a deletion without a client's request
}

// Store reads and writes objects with optimistic concurrency, and collects garbage.
type Store struct {
	Config
	namespaces *watchcache.Cache
	Collector  *garbage.Collector
	requests   *garbage.Requests // the DELETE requests for owners
}

// New returns a store of the resources of a catalog.
func New(config Config) *Store {
	s := &Store{Config: config, requests: garbage.NewRequests(config.Etcd, requestsKey+config.Prefix+"/")}
	now := s.Catalog.Current()
	namespaces := now.Registry.Lookup("", "v1", "namespaces")
	s.namespaces = now.Caches[namespaces].Cache
	s.Collector = garbage.New(garbage.Config{
		Store: s.Etcd, Permit: s.Claim.Verify, Key: leaderKey + s.Prefix, Owners: s.Collect,
		Requests: s.requests, Limit: s.CollectLimit, Logger: s.Logger,
		Namespaces: s.gcResource(namespaces, now.Caches[namespaces]),
		Removed: func(name string) {
			s.Audit(namespaces, resource.Scope{Name: name}, "it was being deleted, and nothing is left in it")
		},
	})
	s.Serve(now)
	return s
}

// Run collects garbage and creates missing Namespaces until ctx ends. It begins when all caches are filled and the data is revtail's own.
func (s *Store) Run(ctx context.Context) {
	if s.Catalog.WaitReady(ctx) != nil {
		return
	}
	if s.CreateNamespaces || s.RequireNamespaces {
		s.createSystemNamespaces(ctx)
	}
	if s.Claim.WaitOwned(ctx) != nil {
		return
	}
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { s.keepNamespaces(ctx) })
	if !s.CollectedElsewhere {
		s.Collector.Run(ctx)
	}
}
