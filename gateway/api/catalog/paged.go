package catalog

import (
	"context"
	"time"

	"revtail/etcdstore"
)

// isPaged reports whether pages of lists are read from the store: it is a file, and no request has needed the cache yet.
func (c *Cache) isPaged() bool { return c != nil && c.paged && !c.Wanted() }

// DemandFor is Demand for a request. One that only reads objects of a file does not need the cache as long as List and Get do not.
func (c *Cache) DemandFor(ctx context.Context, onlyReads bool) error {
	if onlyReads && c.isPaged() {
		return nil
	}
	return c.Demand(ctx)
}

// demandOfFile is Demand for a file, whose readers have not called it.
func (c *Cache) demandOfFile(ctx context.Context) error {
	if c.paged {
		return c.Demand(ctx)
	}
	return nil
}

// Newest is watchcache.Cache.Newest, also of a file whose cache is not filled.
func (c *Cache) Newest(ctx context.Context) (etcdstore.Revision, error) {
	if c.paged {
		return c.store.Revision(ctx)
	}
	return c.Cache.Newest(ctx)
}

// Age is watchcache.Cache.Age. What is read from a file is of now.
func (c *Cache) Age() time.Duration {
	if c.isPaged() {
		return 0
	}
	return c.Cache.Age()
}
