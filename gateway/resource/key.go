package resource

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Of returns the resource of the objects below root that have a key, which need not be served; false: no object has the key.
func Of(root, key string) (of schema.GroupResource, ok bool) {
	rest, ok := strings.CutPrefix(key, root+"/")
	if !ok {
		return of, false
	}
	first, rest, ok := strings.Cut(rest, "/")
	if !ok {
		return of, false
	}
	if group, own := ungrouped[first]; own {
		return schema.GroupResource{Group: group, Resource: first}, true
	}
	if !isGroup(first) {
		return schema.GroupResource{Resource: first}, true
	}
	plural, _, ok := strings.Cut(rest, "/")
	return schema.GroupResource{Group: first, Resource: plural}, ok
}

// ungrouped are the groups of the resources whose keys have none, by plural: see Resource.KeyPrefix. Those of APIServices lack it because a key with the
// group proves that a kube-apiserver owns the data.
var ungrouped = map[string]string{"apiservices": "apiregistration.k8s.io"}

// isGroup reports whether the first segment of a key is a group, and not a resource of the core group. The groups of custom resources have
// a dot, plurals have none.
func isGroup(segment string) bool {
	return strings.Contains(segment, ".") || slices.Contains(shortGroups, segment)
}

// shortGroups are the built-in groups without a dot.
var shortGroups = []string{"apps", "autoscaling", "batch", "policy"}

// clusterPrefixes are the prefixes of the keys of resources that are not stored under their plural.
var clusterPrefixes = map[schema.GroupResource]string{
	{Resource: "replicationcontrollers"}:                       "controllers",
	{Resource: "endpoints"}:                                    "services/endpoints",
	{Resource: "nodes"}:                                        "minions",
	{Resource: "services"}:                                     "services/specs",
	{Group: "networking.k8s.io", Resource: "ingresses"}:        "ingress",
	{Group: "apiregistration.k8s.io", Resource: "apiservices"}: "apiregistration.k8s.io/apiservices",
}

// ClusterPrefix returns the prefix of the keys under which a kube-apiserver stores a built-in resource, below that of all resources and without slashes at
// its ends: "services/specs".
func (r *Resource) ClusterPrefix() string {
	if prefix, ok := clusterPrefixes[schema.GroupResource{Group: r.Group, Resource: r.Plural}]; ok {
		return prefix
	}
	return r.Plural
}
