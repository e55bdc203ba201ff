package resource

import "strings"

// Registry is the set of resources that are served. It does not change after it is made.
type Registry struct {
	all   []*Resource
	byURL map[urlKey]*Resource
}

type urlKey struct{ group, version, plural string }

// NewRegistry makes a registry of the resources given.
func NewRegistry(resources []*Resource) *Registry {
	r := &Registry{all: resources, byURL: make(map[urlKey]*Resource, len(resources))}
	for _, res := range resources {
		r.byURL[urlKey{res.Group, res.Version, res.Plural}] = res
	}
	return r
}

// Lookup finds a resource by the parts of its URL; nil: there is none.
func (r *Registry) Lookup(group, version, plural string) *Resource {
	return r.byURL[urlKey{group, version, plural}]
}

// All are the resources in the order in which they were given.
func (r *Registry) All() []*Resource { return r.all }

func singular(kind string) string { return strings.ToLower(kind) }
