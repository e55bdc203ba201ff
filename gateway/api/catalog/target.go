package catalog

import (
	"revtail/gateway/api/managedfields"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// Target is a Ref that is served, with what serves it.
type Target struct {
	resource.Ref
	Cache  *watchcache.Cache
	Fields *managedfields.Managers
}
