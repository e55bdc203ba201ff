package catalog

import "revtail/gateway/resource"

// Target is what a URL names, with the cache of its resource.
type Target struct {
	resource.Ref
	Cache *Cache // nil: no objects are stored
}
