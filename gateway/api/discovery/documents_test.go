package discovery

import (
	"strings"
	"testing"

	"revtail/gateway/api/kinds"
	"revtail/gateway/http/response"
	"revtail/gateway/resource"
)

// kubectl keeps discovery for hours and asks only whether the ETag is still the same.
func TestDiscoveryETagFollowsResources(t *testing.T) {
	describe := func(more ...*resource.Resource) Documents {
		builtin := kinds.Builtin()
		some := []*resource.Resource{builtin[0], builtin[len(builtin)-1]} // of the core group and of another one
		return New(resource.Groups(append(some, more...)))
	}
	before, same, after := describe(), describe(), describe(&resource.Resource{Group: "example.com", Version: "v1", Plural: "widgets", Kind: "Widget"})
	for name, of := range map[string]func(Documents) response.Document{
		"groups":     func(d Documents) response.Document { return d.Groups },
		"aggregated": func(d Documents) response.Document { return d.AggregatedGroups },
	} {
		if of(before).ETag != of(same).ETag {
			t.Errorf("%s: the same resources have two ETags: replicas would differ", name)
		}
		if of(before).ETag == of(after).ETag {
			t.Errorf("%s: the ETag does not change when a resource is added", name)
		}
	}
	if before.AggregatedCore.ETag != after.AggregatedCore.ETag {
		t.Error("the ETag of the core group changes with another group")
	}
}

// Clients read null as a missing list.
func TestDiscoveryOfNothing(t *testing.T) {
	d := New(nil)
	for name, got := range map[string]response.Document{"groups": d.Groups, "aggregated core": d.AggregatedCore, "aggregated groups": d.AggregatedGroups} {
		if strings.Contains(string(got.Body), "null") {
			t.Errorf("%s: %s", name, got.Body)
		}
	}
	if d.CoreVersions == nil {
		t.Error("the versions of the core group would be null")
	}
}
