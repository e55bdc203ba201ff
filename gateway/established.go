package gateway

import (
	"context"
	"strings"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/api/customresource"
	"revtail/gateway/resource"
)

// establishedPatience is how long a request waits for a resource that another replica said is there.
const establishedPatience = 3 * time.Second

// awaitEstablished finds a resource that is not served yet although its definition is established: another replica was faster to
// serve it and to say so. Without an error and a resource there is no such definition.
func (s *Server) awaitEstablished(ctx context.Context, group, version, plural string) (*resource.Resource, *served, error) {
	if !strings.Contains(group, ".") {
		return nil, nil, nil // no definition has such a group
	}
	ctx, cancel := context.WithTimeout(ctx, establishedPatience)
	defer cancel()
	revision, err := s.options.Store.Revision(ctx)
	if err != nil {
		return nil, nil, err
	}
	for {
		now := s.now()
		if res := now.registry.Lookup(group, version, plural); res != nil {
			return res, now, nil
		}
		established, err := s.established(ctx, plural+"."+group, version, revision)
		if err != nil || !established {
			return nil, nil, err
		}
		select {
		case <-now.replaced:
		case <-ctx.Done():
			return nil, nil, incomplete
		}
	}
}

// established tells whether a definition of this name and version is, in a state not older than a revision.
func (s *Server) established(ctx context.Context, name, version string, revision etcdstore.Revision) (bool, error) {
	definitions := s.now().caches[customresource.Kind()]
	if definitions.WaitUntil(ctx, revision) != nil {
		return false, incomplete
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
