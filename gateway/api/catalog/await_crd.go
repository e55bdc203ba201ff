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

// crdTimeout bounds the wait for a CRD that another replica serves already.
const crdTimeout = 3 * time.Second

// WaitForCRD waits for a resource that is not served yet although its definition is established, because another replica served it
// earlier. It returns no resource if there is no such definition.
func (c *Catalog) WaitForCRD(ctx context.Context, group, version, plural string) (*resource.Resource, *Snapshot, error) {
	if !strings.Contains(group, ".") {
		return nil, nil, nil // the group of a definition has a dot
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

// established reports whether a definition is established and serves a version, in a state of the cache not older than a revision.
func (c *Catalog) established(ctx context.Context, name, version string, revision etcdstore.Revision) (bool, error) {
	definitions := c.Current().Caches[customresource.Kind()]
	if definitions.WaitUntil(ctx, revision) != nil {
		return false, ErrIncomplete
	}
	object := definitions.Peek(name)
	if object == nil || object.Invalid != nil {
		return false, nil //nolint:nilerr // a definition that cannot be decoded is not served
	}
	definition, err := customresource.Parse(object.JSON)
	if err != nil {
		return false, nil //nolint:nilerr // a definition that cannot be parsed is not served
	}
	return definition.V1.DeletionTimestamp == nil && definition.Established() && definition.Serves(version), nil
}

// ErrIncomplete makes clients try again, because a resource may be served soon: right after a start, or after its definition.
var ErrIncomplete = &watchcache.NotReadyError{RetryAfter: time.Second}
