package catalog

import (
	"context"
	"strings"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/api/customresource"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// crdTimeout is how long a request waits for a resource that another replica said is there.
const crdTimeout = 3 * time.Second

// WaitForCRD finds a resource that is not served yet although its definition is established: another replica was faster to
// serve it and to say so. Without an error and a resource there is no such definition.
func (c *Catalog) WaitForCRD(ctx context.Context, group, version, plural string) (*resource.Resource, *Snapshot, error) {
	if !strings.Contains(group, ".") {
		return nil, nil, nil // no definition has such a group
	}
	ctx, cancel := context.WithTimeout(ctx, crdTimeout)
	defer cancel()
	revision, err := c.Store.Revision(ctx)
	if err != nil {
		return nil, nil, err
	}
	for {
		now := c.Current()
		if res := now.Registry.Lookup(group, version, plural); res != nil {
			return res, now, nil
		}
		established, err := c.established(ctx, plural+"."+group, version, revision)
		if err != nil || !established {
			return nil, nil, err
		}
		select {
		case <-now.replaced:
		case <-ctx.Done():
			return nil, nil, ErrIncomplete
		}
	}
}

// established reports whether a definition of this name and version is, in a state not older than a revision.
func (c *Catalog) established(ctx context.Context, name, version string, revision etcdstore.Revision) (bool, error) {
	definitions := c.Current().Caches[customresource.Kind()]
	if definitions.WaitUntil(ctx, revision) != nil {
		return false, ErrIncomplete
	}
	object := definitions.Peek(name)
	if object == nil || object.Invalid != nil {
		return false, nil //nolint:nilerr // what cannot be read is not served
	}
	definition, err := customresource.Parse(object.JSON)
	if err != nil {
		return false, nil //nolint:nilerr // one that cannot be read is not served
	}
	return definition.V1.DeletionTimestamp == nil && definition.Established() && definition.Serves(version), nil
}

// ErrIncomplete is the answer to a client that asks right after a restart: it must not believe that its resource is gone.
var ErrIncomplete = &watchcache.NotReadyError{RetryAfter: time.Second}
