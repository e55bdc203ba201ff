package resource

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

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

// PreferredVersion returns the preferred version of a resource; empty: there is no such resource.
func (r *Registry) PreferredVersion(group, plural string) string {
	for _, g := range Groups(r.all) {
		for _, v := range g.Versions {
			if g.Name == group && r.Lookup(group, v.Version, plural) != nil {
				return v.Version
			}
		}
	}
	return ""
}

// All returns the resources in the order of NewRegistry.
func (r *Registry) All() []*Resource { return r.all }

// Group is a group of resources with its versions, the preferred one first.
type Group struct {
	Name     string // empty: the core group
	Versions []*GroupVersion
}

// GroupVersion is one version of a group, with its resources.
type GroupVersion struct {
	schema.GroupVersion
	Resources []*Resource
}

// Path returns the URL path of the version, without the leading slash: "api/v1", "apis/apps/v1".
func (v *GroupVersion) Path() string {
	if v.Group == "" {
		return "api/" + v.Version
	}
	return "apis/" + v.String()
}

// Groups groups resources by group and version. Groups and resources keep the order of their first occurrence. Stable versions come before
// betas, and newer versions before older ones.
func Groups(resources []*Resource) []*Group {
	var groups []*Group
	for _, res := range resources {
		i := slices.IndexFunc(groups, func(g *Group) bool { return g.Name == res.Group })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &Group{Name: res.Group})
		}
		groups[i].add(res)
	}
	for _, group := range groups {
		slices.SortStableFunc(group.Versions, func(a, b *GroupVersion) int {
			return version.CompareKubeAwareVersionStrings(b.Version, a.Version)
		})
	}
	return groups
}

func (g *Group) add(res *Resource) {
	i := slices.IndexFunc(g.Versions, func(v *GroupVersion) bool { return v.Version == res.Version })
	if i < 0 {
		i = len(g.Versions)
		g.Versions = append(g.Versions, &GroupVersion{GroupVersion: schema.GroupVersion{Group: res.Group, Version: res.Version}})
	}
	g.Versions[i].Resources = append(g.Versions[i].Resources, res)
}
