package discovery

import (
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
	utilversion "k8s.io/apimachinery/pkg/util/version"
)

// kubectl accepts only a semantic version for its comparison.
func TestVersionIsSemantic(t *testing.T) {
	for product, want := range map[string]string{
		"":                  "v1.37.0+revtail",
		"0.3.1":             "v1.37.0+revtail.0.3.1",
		"v0.3.1-rc.1":       "v1.37.0+revtail.0.3.1-rc.1",
		"v0.3.1+dirty":      "v1.37.0+revtail.0.3.1.dirty",
		"(devel)":           "v1.37.0+revtail.devel",
		"1..2 / über_3":     "v1.37.0+revtail.1.2.ber.3",
		"v0.0.0-2026-abcde": "v1.37.0+revtail.0.0.0-2026-abcde",
		// Go's version of a working tree, and git describe's version of a commit.
		"v0.0.0-20261121034600-c894459ab0f1+dirty": "v1.37.0+revtail.0.0.0-20261121034600-c894459ab0f1.dirty",
		"v0.3.1-4-gc894459-dirty":                  "v1.37.0+revtail.0.3.1-4-gc894459-dirty",
		"c894459":                                  "v1.37.0+revtail.c894459",
		"007":                                      "v1.37.0+revtail.007",
	} {
		got := VersionInfo(product, nil).GitVersion
		if got != want {
			t.Errorf("%q: %s, want %s", product, got, want)
		}
		if _, err := utilversion.ParseSemantic(got); err != nil {
			t.Errorf("%q: %v", product, err)
		}
	}
}

func TestVersionHasTheBuild(t *testing.T) {
	settings := func(modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "4cb5f07"}, {Key: "vcs.time", Value: "2026-11-21T00:00:00Z"}, {Key: "vcs.modified", Value: modified}}}
	}
	type build struct{ Commit, Date, State string }
	for _, test := range []struct {
		name string
		info *debug.BuildInfo
		want build
	}{
		{"unknown", nil, build{}},
		{"clean", settings("false"), build{"4cb5f07", "2026-11-21T00:00:00Z", "clean"}},
		{"dirty", settings("true"), build{"4cb5f07", "2026-11-21T00:00:00Z", "dirty"}},
	} {
		got := VersionInfo("0.3.1", test.info)
		if diff := cmp.Diff(test.want, build{got.GitCommit, got.BuildDate, got.GitTreeState}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
