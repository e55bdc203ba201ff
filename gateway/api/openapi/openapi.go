package openapi

import (
	"slices"
	"sync"

	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"revtail/gateway/api/schema"
	"revtail/gateway/http/response"
	"revtail/gateway/resource"
)

// Documents are the OpenAPI documents of the resources: in v3 one for each group and version, and an index with their hashes; in v2 one
// for all. The first request for a document renders it, because that of the core group has hundreds of types.
type Documents struct {
	Index     func() response.Document
	Documents map[string]Part // by the path of the group and version: "api/v1", "apis/apps/v1"
	V2        v2
}

// Part is the document of a group and version.
type Part struct {
	resources []*resource.Resource
	Render    func() response.Document
}

// New returns the documents of groups; version is that of Kubernetes. It keeps the previous documents of the same resources.
func New(groups []*resource.Group, version string, previous map[string]Part) Documents {
	documents := make(map[string]Part)
	for _, group := range groups {
		for _, gv := range group.Versions {
			part := previous[gv.Path()]
			if part.Render == nil || !slices.Equal(part.resources, gv.Resources) {
				part = Part{resources: gv.Resources, Render: sync.OnceValue(func() response.Document {
					return response.NewDocument("application/json", openAPIDocument(gv, version))
				})}
			}
			documents[gv.Path()] = part
		}
	}
	index := sync.OnceValue(func() response.Document { return openAPIIndex(documents) })
	return Documents{Documents: documents, Index: index, V2: newV2(groups, version)}
}

func openAPIIndex(documents map[string]Part) response.Document {
	type link struct {
		ServerRelativeURL string `json:"serverRelativeURL"`
	}
	paths := make(map[string]link, len(documents))
	for path, part := range documents {
		paths[path] = link{ServerRelativeURL: URL(path, part.Render())}
	}
	return response.NewDocument("application/json", map[string]any{"paths": paths})
}

// URL returns the URL under which a document never changes.
func URL(path string, document response.Document) string {
	return "/openapi/v3/" + path + "?hash=" + document.Hash()
}

func openAPIDocument(gv *resource.GroupVersion, version string) *spec3.OpenAPI {
	schemas := make(schema.Set)
	schemas.AddCommon()
	paths := make(map[string]*spec3.Path)
	for _, res := range gv.Resources {
		schemas.AddResource(res)
		addPaths(paths, gv, res)
	}
	return &spec3.OpenAPI{
		Version:    "3.0.0",
		Info:       &spec.Info{InfoProps: spec.InfoProps{Title: "revtail", Version: version}},
		Paths:      &spec3.Paths{Paths: paths},
		Components: &spec3.Components{Schemas: schemas},
	}
}
