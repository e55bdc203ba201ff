package gateway

import (
	"strings"
	"testing"

	"revtail/gateway/resource"
)

// kubectl keeps discovery for hours and asks only whether the ETag is still the same.
func TestDiscoveryETagFollowsResources(t *testing.T) {
	describe := func(more ...*resource.Resource) discovery {
		builtin := resource.Builtin()
		some := []*resource.Resource{builtin[0], builtin[len(builtin)-1]} // of the core group and of another one
		return newDiscovery(resource.Groups(append(some, more...)))
	}
	before, same, after := describe(), describe(), describe(&resource.Resource{Group: "example.com", Version: "v1", Plural: "widgets", Kind: "Widget"})
	for name, of := range map[string]func(discovery) representation{
		"groups":     func(d discovery) representation { return d.groups },
		"aggregated": func(d discovery) representation { return d.aggregatedGroups },
	} {
		if of(before).etag != of(same).etag {
			t.Errorf("%s: the same resources have two ETags: replicas would differ", name)
		}
		if of(before).etag == of(after).etag {
			t.Errorf("%s: a resource was added and the ETag stays", name)
		}
	}
	if before.aggregatedCore.etag != after.aggregatedCore.etag {
		t.Error("the ETag of the core group changes with another group")
	}
}

// Clients take null for a list that is missing.
func TestDiscoveryOfNothing(t *testing.T) {
	d := newDiscovery(nil)
	for name, got := range map[string]representation{"groups": d.groups, "aggregated core": d.aggregatedCore, "aggregated groups": d.aggregatedGroups} {
		if strings.Contains(string(got.body), "null") {
			t.Errorf("%s: %s", name, got.body)
		}
	}
	if d.coreVersions == nil {
		t.Error("the versions of the core group would be null")
	}
}
