package gateway

import (
	"runtime"
	"runtime/debug"
	"strings"

	"k8s.io/apimachinery/pkg/version"

	"revtail/gateway/metrics"
)

// The level of the protocol is that of this minor version of Kubernetes, and it is what clients compare with their own:
// kubectl warns when it is more than one away.
const (
	protocolMajor = "1"
	protocolMinor = "37"
	previousMinor = "36" // the oldest that the protocol is compatible with
)

// buildOf says the same to operators.
func buildOf(product string) metrics.Build {
	build, _ := debug.ReadBuildInfo()
	return metrics.Build{Version: product, Revision: versionInfo(product, build).GitCommit}
}

// GitVersion is what /version calls a gateway of a version. The product's own version is build metadata (Semantic Versioning,
// section 10) behind the protocol's, as distributions of Kubernetes name theirs.
func GitVersion(product string) string {
	return "v" + protocolMajor + "." + protocolMinor + ".0+revtail" + buildMetadata(product)
}

// versionInfo says what runs here. The date is that of the commit, so that builds are reproducible.
func versionInfo(product string, build *debug.BuildInfo) version.Info {
	info := version.Info{
		Major: protocolMajor, Minor: protocolMinor,
		EmulationMajor: protocolMajor, EmulationMinor: protocolMinor,
		MinCompatibilityMajor: protocolMajor, MinCompatibilityMinor: previousMinor,
		GitVersion: GitVersion(product),
		GoVersion:  runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if build == nil {
		return info
	}
	for _, setting := range build.Settings {
		switch setting.Key {
		case "vcs.revision":
			info.GitCommit = setting.Value
		case "vcs.time":
			info.BuildDate = setting.Value
		case "vcs.modified":
			info.GitTreeState = "clean"
			if setting.Value == "true" {
				info.GitTreeState = "dirty"
			}
		}
	}
	return info
}

// buildMetadata makes of a version what may stand behind the plus sign of another: ".0.3.1-rc.1".
func buildMetadata(product string) string {
	identifiers := strings.FieldsFunc(strings.TrimPrefix(product, "v"), func(c rune) bool {
		return c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	})
	if len(identifiers) == 0 {
		return ""
	}
	return "." + strings.Join(identifiers, ".")
}
