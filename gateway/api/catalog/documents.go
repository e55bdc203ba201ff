package catalog

import (
	"slices"

	"revtail/gateway/api/discovery"
	"revtail/gateway/api/openapi"
	"revtail/gateway/resource"
)

// documents are what clients can learn about the resources of one registry. It does not change; the OpenAPI documents are
// rendered when they are first asked for.
type documents struct {
	Discovery discovery.Documents
	OpenAPI   openapi.Documents
}

// newDocuments describes a registry. It takes the OpenAPI documents of the registry before it, if that is not nil, where their resources
// are the same: a change of one of many definitions does not render them all.
func newDocuments(registry *resource.Registry, before *documents) *documents {
	groups := resource.Groups(slices.Concat(registry.All(), resource.Virtual()))
	var held map[string]openapi.Part
	if before != nil {
		held = before.OpenAPI.Documents
	}
	return &documents{Discovery: discovery.New(groups), OpenAPI: openapi.New(groups, discovery.ProtocolVersion, held)}
}
