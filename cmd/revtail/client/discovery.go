package client

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apidiscovery "k8s.io/api/apidiscovery/v2"
)

// Resource is a resource that a gateway serves.
type Resource struct {
	Group, Version, Plural, Singular, Kind string

	Namespaced bool
	ShortNames []string
}

// aggregated asks for all groups in one document.
const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// Resources are those that can be listed: those of the core group first, and of each group its preferred version first.
func (c *Client) Resources(ctx context.Context) ([]Resource, error) {
	var out []Resource
	for _, path := range []string{"/api", "/apis"} {
		var list apidiscovery.APIGroupDiscoveryList
		if err := c.get(ctx, path, nil, aggregated, &list); err != nil {
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
						Namespaced: res.Scope == apidiscovery.ScopeNamespace, ShortNames: res.ShortNames,
					})
				}
			}
		}
	}
	return out, nil
}

// Find finds a resource by what people call it: plural, singular, short name or kind, with the group behind a dot or without,
// with the version between the two or without.
func Find(resources []Resource, name string) (Resource, error) {
	called, group, _ := strings.Cut(strings.ToLower(name), ".")
	matches := []func(Resource) bool{
		func(r Resource) bool { return r.Plural == called },
		func(r Resource) bool { return r.Singular == called },
		func(r Resource) bool { return slices.Contains(r.ShortNames, called) },
		func(r Resource) bool { return strings.ToLower(r.Kind) == called },
	}
	for _, match := range matches {
		for _, r := range resources {
			if called != "" && match(r) && (group == "" || group == r.Group || group == strings.TrimSuffix(r.Version+"."+r.Group, ".")) {
				return r, nil
			}
		}
	}
	return Resource{}, fmt.Errorf("the gateway serves no resource %q; it serves %s", name, strings.Join(names(resources), ", "))
}

// names are those of all resources, each once.
func names(resources []Resource) []string {
	var out []string
	for _, r := range resources {
		out = append(out, r.QualifiedName())
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// QualifiedName is "pods" or "deployments.apps".
func (r Resource) QualifiedName() string { return withGroup(r.Plural, r.Group) }

// Of is how an object is called beside others: "pod/web", "deployment.apps/web".
func (r Resource) Of(name string) string {
	singular := r.Singular
	if singular == "" {
		singular = strings.ToLower(r.Kind)
	}
	return withGroup(singular, r.Group) + "/" + name
}

func withGroup(name, group string) string {
	if group == "" {
		return name
	}
	return name + "." + group
}

// APIVersion is "v1" or "apps/v1".
func (r Resource) APIVersion() string {
	if r.Group == "" {
		return r.Version
	}
	return r.Group + "/" + r.Version
}

// path is where the objects of a namespace are; of all of them, without one.
func (r Resource) path(namespace string) string {
	root := "/apis/"
	if r.Group == "" {
		root = "/api/"
	}
	if namespace != "" {
		namespace = "/namespaces/" + namespace
	}
	return root + r.APIVersion() + namespace + "/" + r.Plural
}
