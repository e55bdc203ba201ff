package gateway

import (
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// target is a Ref that is served, with what serves it.
type target struct {
	resource.Ref
	cache  *watchcache.Cache
	fields *managers
}
