package gateway

import (
	"revtail/gateway/api/garbage"
	"revtail/gateway/resource"
)

// requestsKey is the beginning of the keys of the records of DELETE requests.
const requestsKey = "revtail/deleted"

// leaderKey is the beginning of the keys by which gateways agree on one that collects garbage. Users' prefixes begin with a slash.
const leaderKey = "revtail/leader"

// newStore makes the store and its garbage collector.
func (s *Server) newStore() *store {
	out := &store{
		etcd: s.options.Store, prefix: s.options.Prefix, claim: s.options.Claim, catalog: s.catalog, audit: s.access.auditOwn,
		collecting: s.options.GarbageCollector, requests: garbage.NewRequests(s.options.Store, requestsKey+s.options.Prefix+"/"),
	}
	config := garbage.Config{
		Store: s.options.Store, Permit: s.options.Claim.Verify, Key: leaderKey + s.options.Prefix, Owners: s.options.GarbageCollector,
		Requests: out.requests, Limit: s.options.GarbageCollectorLimit, Logger: s.options.Logger,
	}
	for res, cache := range s.catalog.current().caches {
		if res.IsNamespaces() {
			out.namespaces, config.Namespaces = cache.Cache, out.gcResource(res, cache)
			config.Removed = func(name string) {
				s.access.auditOwn(res, resource.Scope{Name: name}, "it was being deleted, and nothing is left in it")
			}
		}
	}
	out.collector = garbage.New(config)
	return out
}
