package discovery

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/gateway/http/response"
	"revtail/gateway/resource"
)

// Documents are the discovery documents: one for each group and version, and the aggregated ones.
type Documents struct {
	CoreVersions     []string
	Groups           response.Document
	Group            map[string]response.Document
	Resources        map[schema.GroupVersion]response.Document
	AggregatedCore   response.Document
	AggregatedGroups response.Document
}

// New returns the documents of groups.
func New(groups []*resource.Group) Documents {
	d := Documents{
		CoreVersions: []string{}, // clients take null for a missing list
		Group:        make(map[string]response.Document),
		Resources:    make(map[schema.GroupVersion]response.Document),
	}
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{}}
	var core, named []*resource.Group
	for _, group := range groups {
		for _, version := range group.Versions {
			d.Resources[version.GroupVersion] = response.NewDocument("application/json", resourceList(version))
			if group.Name == "" {
				d.CoreVersions = append(d.CoreVersions, version.Version)
			}
		}
		if group.Name == "" {
			core = append(core, group)
			continue
		}
		named = append(named, group)
		document := groupDocument(group)
		list.Groups = append(list.Groups, document)
		document.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
		d.Group[group.Name] = response.NewDocument("application/json", document)
	}
	d.Groups = response.NewDocument("application/json", list)
	d.AggregatedCore, d.AggregatedGroups = response.NewDocument(AggregatedType, aggregate(core)), response.NewDocument(AggregatedType, aggregate(named))
	return d
}

func groupDocument(g *resource.Group) metav1.APIGroup {
	out := metav1.APIGroup{Name: g.Name}
	for _, version := range g.Versions {
		out.Versions = append(out.Versions, metav1.GroupVersionForDiscovery{GroupVersion: version.String(), Version: version.Version})
	}
	out.PreferredVersion = out.Versions[0]
	return out
}

// subresourceVerbs returns the verbs of a subresource.
func subresourceVerbs(sub resource.Ref) []string {
	switch {
	case sub.ViewKind().Virtual:
		return resourceVerbs(sub.ViewKind())
	case sub.Subresource == resource.FinalizeSubresource:
		return []string{"update"}
	}
	return []string{"get", "patch", "update"}
}

func resourceVerbs(res *resource.Resource) []string {
	switch {
	case res.Virtual && res.ReadOnly:
		return []string{"get", "list"}
	case res.Virtual:
		return []string{"create"}
	case res.ReadOnly:
		return []string{"get", "list", "watch"}
	}
	return []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
}

func resourceList(version *resource.GroupVersion) metav1.APIResourceList {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version.String()}
	for _, res := range version.Resources {
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: res.Plural, SingularName: res.Singular, Namespaced: res.Namespaced, Kind: res.Kind, Verbs: resourceVerbs(res),
			ShortNames: res.ShortNames, Categories: res.Categories, StorageVersionHash: storageVersionHash(res),
		})
		for _, sub := range res.Subresources() {
			described := metav1.APIResource{
				Name: res.Plural + "/" + sub.Subresource, Namespaced: res.Namespaced, Kind: sub.ViewKind().Kind, Verbs: subresourceVerbs(sub),
			}
			if view := sub.ViewKind(); view.Group != res.Group || view.Version != res.Version {
				described.Group, described.Version = sub.ViewKind().Group, sub.ViewKind().Version
			}
			list.APIResources = append(list.APIResources, described)
		}
	}
	return list
}

// storageVersionHash identifies the storage version of a resource: when it changes, objects must be written again. Virtual resources and
// mounts have none.
func storageVersionHash(res *resource.Resource) string {
	if res.Virtual || res.Mount != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(res.Stored().Group + "/" + cmp.Or(res.StorageVersion, res.Stored().Version) + "/" + res.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

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
			Subresource: sub.Subresource, ResponseKind: kind(sub.ViewKind()), Verbs: subresourceVerbs(sub),
		})
	}
	return out
}
