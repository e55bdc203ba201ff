package gateway

import (
	"slices"
	"sync"

	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"revtail/gateway/api/schema"
	"revtail/gateway/resource"
)

// openAPI is the OpenAPI v3 description of the resources: a document for each group and version, and an index that leads to
// them by their hashes; beside it the one of v2. Each is rendered when it is first asked for: that of the core group has
// hundreds of types.
type openAPI struct {
	index     func() representation
	documents map[string]openAPIPart // by the path of the group and version: "api/v1", "apis/apps/v1"
	v2        openAPIV2
}

// openAPIPart is the document of a group and version.
type openAPIPart struct {
	resources []*resource.Resource // that it describes
	render    func() representation
}

// newOpenAPI describes groups. A document that is held for the same resources is taken over.
func newOpenAPI(groups []*resource.Group, held map[string]openAPIPart) openAPI {
	documents := make(map[string]openAPIPart)
	for _, group := range groups {
		for _, version := range group.Versions {
			part := held[version.Path()]
			if part.render == nil || !slices.Equal(part.resources, version.Resources) {
				part = openAPIPart{resources: version.Resources, render: sync.OnceValue(func() representation {
					return represent("application/json", openAPIDocument(version))
				})}
			}
			documents[version.Path()] = part
		}
	}
	index := sync.OnceValue(func() representation { return openAPIIndex(documents) })
	return openAPI{documents: documents, index: index, v2: newOpenAPIV2(groups)}
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

func openAPIDocument(version *resource.GroupVersion) *spec3.OpenAPI {
	schemas := make(schema.Set)
	schemas.AddCommon()
	paths := make(map[string]*spec3.Path)
	for _, res := range version.Resources {
		schemas.AddResource(res)
		addPaths(paths, version, res)
	}
	return &spec3.OpenAPI{
		Version:    "3.0.0",
		Info:       &spec.Info{InfoProps: spec.InfoProps{Title: "revtail", Version: "v" + protocolMajor + "." + protocolMinor + ".0"}},
		Paths:      &spec3.Paths{Paths: paths},
		Components: &spec3.Components{Schemas: schemas},
	}
}
