package resource

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGroupsKeepOrder(t *testing.T) {
	of := func(group, version, plural string) *Resource {
		return &Resource{Group: group, Version: version, Plural: plural}
	}
	var got []string
	for _, group := range Groups([]*Resource{
		of("b", "v2", "one"), of("a", "v1", "two"), of("b", "v1", "three"), of("b", "v2", "four"), of("", "v1", "five"),
	}) {
		for _, version := range group.Versions {
			for _, res := range version.Resources {
				got = append(got, version.Path()+"/"+res.Plural)
			}
		}
	}
	want := []string{"apis/b/v2/one", "apis/b/v2/four", "apis/b/v1/three", "apis/a/v1/two", "api/v1/five"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
