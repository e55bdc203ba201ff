package serve

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/gateway/api/kinds"
	"revtail/gateway/resource"
)

// forwardedResources returns the resources that names choose, and those of other groups that have the same keys in etcd. The error names what is no
// built-in resource: a kube-apiserver keeps the others in one etcd. CustomResourceDefinitions are refused, because revtail serves what they define.
func forwardedResources(names []string) (out []schema.GroupResource, err error) {
	known := kinds.InCluster()
	var errs []error
	for _, name := range names {
		plural, _, _ := strings.Cut(name, ".")
		i := slices.IndexFunc(known, func(r *resource.Resource) bool { return r.QualifiedName() == name && !r.Virtual })
		switch {
		case name == "customresourcedefinitions.apiextensions.k8s.io":
			errs = append(errs, fmt.Errorf("--forward-resources %s: revtail reads the definitions of custom resources from --etcd-endpoints", name))
			continue
		case i < 0:
			errs = append(errs, fmt.Errorf("--forward-resources %q: there is no such built-in resource%s", name, selection{known: known}.suggestion(name, plural)))
			continue
		}
		for _, r := range known {
			of := schema.GroupResource{Group: r.Group, Resource: r.Plural}
			if !r.Virtual && r.KeyPrefix == known[i].KeyPrefix && !slices.Contains(out, of) {
				out = append(out, of)
			}
		}
	}
	return out, errors.Join(errs...)
}
