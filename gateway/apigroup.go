package gateway

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"revtail/gateway/resource"
)

// apiGroup is a group of resources with its versions, the preferred one first.
type apiGroup struct {
	name     string // empty: the core group
	versions []*apiVersion
}

type apiVersion struct {
	schema.GroupVersion
	resources []*resource.Resource
}

// path is where the version stands in the URL space, without the slash in front.
func (v *apiVersion) path() string {
	if v.Group == "" {
		return "api/" + v.Version
	}
	return "apis/" + v.String()
}

// groupResources sorts resources by group and version. Groups and resources stay in the order in which they first occur; of
// versions, the one that clients should prefer stands first: stable ones before betas, and newer ones before older ones.
func groupResources(resources []*resource.Resource) []*apiGroup {
	var groups []*apiGroup
	for _, res := range resources {
		i := slices.IndexFunc(groups, func(g *apiGroup) bool { return g.name == res.Group })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &apiGroup{name: res.Group})
		}
		groups[i].add(res)
	}
	for _, group := range groups {
		slices.SortStableFunc(group.versions, func(a, b *apiVersion) int {
			return version.CompareKubeAwareVersionStrings(b.Version, a.Version)
		})
	}
	return groups
}

func (g *apiGroup) add(res *resource.Resource) {
	i := slices.IndexFunc(g.versions, func(v *apiVersion) bool { return v.Version == res.Version })
	if i < 0 {
		i = len(g.versions)
		g.versions = append(g.versions, &apiVersion{GroupVersion: schema.GroupVersion{Group: res.Group, Version: res.Version}})
	}
	g.versions[i].resources = append(g.versions[i].resources, res)
}
