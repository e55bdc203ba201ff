package gateway

import (
	"slices"

	"revtail/gateway/resource"
)

// documents are what clients can learn about the resources of one registry. It does not change; the OpenAPI documents are
// rendered when they are first asked for.
type documents struct {
	discovery discovery
	openAPI   openAPI
}

// newDocuments describes a registry. It takes the OpenAPI documents of the registry before it, if that is not nil, where their resources
// are the same: a change of one of many definitions does not render them all.
func newDocuments(registry *resource.Registry, before *documents) *documents {
	groups := resource.Groups(slices.Concat(registry.All(), resource.Virtual()))
	var held map[string]openAPIPart
	if before != nil {
		held = before.openAPI.documents
	}
	return &documents{discovery: newDiscovery(groups), openAPI: newOpenAPI(groups, protocolVersion, held)}
}
