package catalog

import (
	"context"
	"slices"
)

// servedDefinition is the spec of a definition and the caches of its resources.
type servedDefinition struct {
	spec   []byte
	caches []*Cache
	stored *Cache // of the objects as they are stored, if a webhook converts them; nil otherwise
}

func (s *servedDefinition) stop() {
	for _, cache := range s.all() {
		cache.stop()
	}
}

func (s *servedDefinition) all() []*Cache {
	if s.stored == nil {
		return s.caches
	}
	return append(slices.Clip(s.caches), s.stored)
}

// filled reports whether all caches are filled. With wait, it waits for them until ctx ends. It does not insist on those that a webhook fills: the
// other versions are served without it.
func (s *servedDefinition) filled(ctx context.Context, wait bool) bool {
	for _, cache := range s.all() {
		filled := !cache.Wanted() || isClosed(cache.Filled()) || wait && waitFor(ctx, cache.Filled()) == nil
		if !filled && (cache.stored == nil || !isClosed(cache.stored.Filled())) {
			return false
		}
	}
	return true
}

// failed reports whether objects could not be read, for which the log of their cache has the reason.
func (s *servedDefinition) failed() bool {
	return slices.ContainsFunc(s.all(), func(c *Cache) bool { return c.Stats().WatchLosses > 0 })
}
