package resource

import "k8s.io/apimachinery/pkg/runtime/schema"

// Registry is an immutable set of resources.
type Registry struct {
	all    []*Resource
	byName map[schema.GroupVersionResource]*Resource
}

// NewRegistry returns a registry of resources.
func NewRegistry(resources []*Resource) *Registry {
	r := &Registry{all: resources, byName: make(map[schema.GroupVersionResource]*Resource, len(resources))}
	for _, res := range resources {
		r.byName[schema.GroupVersionResource{Group: res.Group, Version: res.Version, Resource: res.Plural}] = res
	}
	return r
}

// Lookup returns the resource of a URL; nil: there is none.
func (r *Registry) Lookup(group, version, plural string) *Resource {
	return r.byName[schema.GroupVersionResource{Group: group, Version: version, Resource: plural}]
}

// All returns the resources in the order of NewRegistry.
func (r *Registry) All() []*Resource { return r.all }
