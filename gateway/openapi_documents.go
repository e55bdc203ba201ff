package gateway

import (
	"slices"
	"sync"

	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"revtail/gateway/api/schema"
	"revtail/gateway/resource"
)

// openAPI is the OpenAPI documents of the resources: in v3 one for each group and version, and an index with their hashes, in v2 one
// for all. The first request for a document renders it: that of the core group has hundreds of types.
type openAPI struct {
	index     func() representation
	documents map[string]openAPIPart // by the path of the group and version: "api/v1", "apis/apps/v1"
	v2        openAPIV2
}

// openAPIPart is the document of a group and version.
type openAPIPart struct {
	resources []*resource.Resource // the described ones
	render    func() representation
}

// newOpenAPI describes groups; version is that of Kubernetes. It keeps the documents of held that describe the same resources.
func newOpenAPI(groups []*resource.Group, version string, held map[string]openAPIPart) openAPI {
	documents := make(map[string]openAPIPart)
	for _, group := range groups {
		for _, gv := range group.Versions {
			part := held[gv.Path()]
			if part.render == nil || !slices.Equal(part.resources, gv.Resources) {
				part = openAPIPart{resources: gv.Resources, render: sync.OnceValue(func() representation {
					return represent("application/json", openAPIDocument(gv, version))
				})}
			}
			documents[gv.Path()] = part
		}
	}
	index := sync.OnceValue(func() representation { return openAPIIndex(documents) })
	return openAPI{documents: documents, index: index, v2: newOpenAPIV2(groups, version)}
}

func openAPIIndex(documents map[string]openAPIPart) representation {
	type link struct {
		ServerRelativeURL string `json:"serverRelativeURL"`
	}
	paths := make(map[string]link, len(documents))
	for path, part := range documents {
		paths[path] = link{ServerRelativeURL: openAPIURL(path, part.render())}
	}
	return represent("application/json", map[string]any{"paths": paths})
}

// openAPIURL is the URL under which a document never changes.
func openAPIURL(path string, document representation) string {
	return "/openapi/v3/" + path + "?hash=" + document.hash()
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
