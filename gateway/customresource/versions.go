package customresource

import (
	"slices"

	"k8s.io/apimachinery/pkg/version"

	"revtail/gateway/resource"
)

// sortVersions puts the version that clients should prefer first: stable ones before betas before alphas, newer ones before
// older ones.
func sortVersions(resources []*resource.Resource) {
	slices.SortStableFunc(resources, func(a, b *resource.Resource) int {
		return -version.CompareKubeAwareVersionStrings(a.Version, b.Version)
	})
}
