package gateway

import (
	"slices"

	"revtail/gateway/resource"
)

// description is what clients can learn about the resources of one registry. It does not change; the OpenAPI documents are
// rendered when they are first asked for.
type description struct {
	registry  *resource.Registry
	discovery discovery
	openAPI   openAPI
}

// newDescription describes a registry. The OpenAPI documents of the description before it, if that is not nil, are taken over
// where their resources are the same: a change of one of many definitions does not render them all.
func newDescription(registry *resource.Registry, before *description) *description {
	groups := groupResources(slices.Concat(registry.All(), resource.Virtual()))
	var held map[string]openAPIPart
	if before != nil {
		held = before.openAPI.documents
	}
	return &description{registry: registry, discovery: newDiscovery(groups), openAPI: newOpenAPI(groups, held)}
}

// describe is the description of what is served now.
func (s *Server) describe() *description { return s.now().description }
