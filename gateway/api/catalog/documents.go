package catalog

import (
	"slices"

	"revtail/gateway/api/discovery"
	"revtail/gateway/api/openapi"
	"revtail/gateway/resource"
)

// documents are the discovery and OpenAPI documents of a registry. They are immutable; the first request for an OpenAPI document renders
// it.
type documents struct {
	Discovery discovery.Documents
	OpenAPI   openapi.Documents
}

// newDocuments describes a registry. It keeps the OpenAPI documents of the previous registry whose resources are the same, so that the
// change of one of many definitions does not render them all.
func newDocuments(registry *resource.Registry, previous *documents) *documents {
	groups := resource.Groups(slices.Concat(registry.All(), resource.Virtual()))
	return &documents{Discovery: discovery.New(groups), OpenAPI: openapi.New(groups, discovery.ProtocolVersion, previous.OpenAPI.Documents)}
}
