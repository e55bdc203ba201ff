package discovery

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/version"

	"revtail/gateway/config/buildinfo"
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
		got := GitVersion(product)
		if got != want {
			t.Errorf("%q: %s, want %s", product, got, want)
		}
		if _, err := utilversion.ParseSemantic(got); err != nil {
			t.Errorf("%q: %v", product, err)
		}
	}
}

func TestVersionHasTheBuild(t *testing.T) {
	build := buildinfo.Info{Version: "v0.3.1", Commit: "4cb5f07", TreeState: "dirty", Date: "2026-11-21T00:00:00Z", Go: "go1.26.8", Compiler: "gc", Platform: "linux/arm64"}
	want := version.Info{
		Major: "1", Minor: "37", EmulationMajor: "1", EmulationMinor: "37", MinCompatibilityMajor: "1", MinCompatibilityMinor: "36",
		GitVersion: "v1.37.0+revtail.0.3.1", GitCommit: "4cb5f07", GitTreeState: "dirty", BuildDate: "2026-11-21T00:00:00Z",
		GoVersion: "go1.26.8", Compiler: "gc", Platform: "linux/arm64",
	}
	if diff := cmp.Diff(want, VersionInfo(build)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
