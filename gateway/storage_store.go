package gateway

import (
	"revtail/etcdstore"
	"revtail/gateway/api/garbage"
	"revtail/gateway/claim"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// store reads and writes objects, on optimistic concurrency.
type store struct {
	etcd       etcdstore.Store
	prefix     string       // of all resources
	claim      *claim.Claim // nil: the data is revtail's own
	catalog    *catalog
	namespaces *watchcache.Cache
	collector  *garbage.Collector
	requests   *garbage.Requests                                                  // the DELETE requests for owners
	collecting bool                                                               // objects whose owners are gone are deleted
	audit      func(res *resource.Resource, scope resource.Scope, because string) // records a deletion without a client's request
}
