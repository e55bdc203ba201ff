package discovery

import (
	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/resource"
)

// AggregatedType is the media type of the document of all groups.
const AggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

func aggregate(groups []*resource.Group) apidiscovery.APIGroupDiscoveryList {
	list := apidiscovery.APIGroupDiscoveryList{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: apidiscovery.SchemeGroupVersion.String()},
		Items:    []apidiscovery.APIGroupDiscovery{},
	}
	for _, group := range groups {
		item := apidiscovery.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: group.Name}}
		for _, version := range group.Versions {
			resources := make([]apidiscovery.APIResourceDiscovery, len(version.Resources))
			for i, res := range version.Resources {
				resources[i] = aggregateResource(res)
			}
			item.Versions = append(item.Versions, apidiscovery.APIVersionDiscovery{
				Version: version.Version, Resources: resources, Freshness: apidiscovery.DiscoveryFreshnessCurrent,
			})
		}
		list.Items = append(list.Items, item)
	}
	return list
}

func aggregateResource(res *resource.Resource) apidiscovery.APIResourceDiscovery {
	kind := func(res *resource.Resource) *metav1.GroupVersionKind {
		return &metav1.GroupVersionKind{Group: res.Group, Version: res.Version, Kind: res.Kind}
	}
	out := apidiscovery.APIResourceDiscovery{
		Resource: res.Plural, ResponseKind: kind(res), Scope: apidiscovery.ScopeCluster, SingularResource: res.Singular, Verbs: resourceVerbs(res),
		ShortNames: res.ShortNames, Categories: res.Categories,
	}
	if res.Namespaced {
		out.Scope = apidiscovery.ScopeNamespace
	}
	for _, sub := range res.Subresources() {
		out.Subresources = append(out.Subresources, apidiscovery.APISubresourceDiscovery{
			Subresource: sub.Subresource, ResponseKind: kind(sub.ViewKind()), Verbs: subresourceVerbs,
		})
	}
	return out
}
