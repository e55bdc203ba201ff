package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/gateway/config/suggest"
)

// Resource is a resource of the gateway.
type Resource struct {
	Group, Version, Plural, Singular, Kind string

	Namespaced bool
	ShortNames []string
	Categories []string // as all
	Verbs      []string
}

// aggregatedDiscovery is the media type of the discovery document of all groups.
const aggregatedDiscovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// Resources returns the resources with the verb list: the core group first, and of each group the preferred version first.
func (c *Client) Resources(ctx context.Context) ([]Resource, error) {
	var out []Resource
	for _, path := range []string{"/api", "/apis"} {
		var list apidiscovery.APIGroupDiscoveryList
		if err := c.get(ctx, path, nil, aggregatedDiscovery, &list); err != nil {
			return nil, err
		}
		for _, group := range list.Items {
			for _, version := range group.Versions {
				for _, res := range version.Resources {
					if res.ResponseKind == nil || !slices.Contains(res.Verbs, "list") {
						continue
					}
					out = append(out, Resource{
						Group: group.Name, Version: version.Version, Plural: res.Resource, Singular: res.SingularResource, Kind: res.ResponseKind.Kind,
						Namespaced: res.Scope == apidiscovery.ScopeNamespace, ShortNames: res.ShortNames, Categories: res.Categories, Verbs: res.Verbs,
					})
				}
			}
		}
	}
	return out, nil
}

// Find finds a resource by its plural, singular, short name or kind. A ".group" or ".version.group" may follow.
func Find(resources []Resource, name string) (Resource, error) {
	short, group, _ := strings.Cut(strings.ToLower(name), ".")
	matches := []func(Resource) bool{
		func(r Resource) bool { return r.Plural == short },
		func(r Resource) bool { return r.Singular == short },
		func(r Resource) bool { return slices.Contains(r.ShortNames, short) },
		func(r Resource) bool { return strings.ToLower(r.Kind) == short },
	}
	for _, match := range matches {
		for _, r := range resources {
			if short != "" && match(r) && (group == "" || group == r.Group || group == strings.TrimSuffix(r.Version+"."+r.Group, ".")) {
				return r, nil
			}
		}
	}
	var served, plurals []string
	for _, r := range resources {
		served, plurals = append(served, r.QualifiedName()), append(plurals, r.Plural)
	}
	if near := suggest.DidYouMean(short, plurals); near != "" {
		return Resource{}, fmt.Errorf("the gateway serves no resource %q%s", name, near)
	}
	slices.Sort(served)
	return Resource{}, fmt.Errorf("the gateway serves no resource %q; it serves %s", name, strings.Join(slices.Compact(served), ", "))
}

// QualifiedName is "pods" or "deployments.apps".
func (r Resource) QualifiedName() string {
	return schema.GroupResource{Group: r.Group, Resource: r.Plural}.String()
}

// ObjectName is "pod/web" or "deployment.apps/web", as kubectl prints it.
func (r Resource) ObjectName(name string) string {
	singular := cmp.Or(r.Singular, strings.ToLower(r.Kind))
	return schema.GroupResource{Group: r.Group, Resource: singular}.String() + "/" + name
}

// APIVersion is "v1" or "apps/v1".
func (r Resource) APIVersion() string {
	return schema.GroupVersion{Group: r.Group, Version: r.Version}.String()
}

// Path is the URL path of the objects in a namespace, or in all namespaces if it is empty. An object is at its name below that.
func (r Resource) Path(namespace string) string {
	root := "/apis/"
	if r.Group == "" {
		root = "/api/"
	}
	if namespace != "" {
		namespace = "/namespaces/" + namespace
	}
	return root + r.APIVersion() + namespace + "/" + r.Plural
}
