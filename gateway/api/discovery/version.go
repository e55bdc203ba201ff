package discovery

import (
	"runtime"
	"runtime/debug"
	"strings"

	"k8s.io/apimachinery/pkg/version"

	"revtail/gateway/metrics"
)

// The version of Kubernetes whose protocol the gateway speaks. Clients compare it with their own version: kubectl warns if the minor
// versions differ by more than one.
const (
	protocolMajor   = "1"
	protocolMinor   = "37"
	previousMinor   = "36" // the oldest compatible one
	ProtocolVersion = "v" + protocolMajor + "." + protocolMinor + ".0"
)

// BuildOf returns the version and the commit, for metrics.
func BuildOf(product string) metrics.Build {
	build, _ := debug.ReadBuildInfo()
	return metrics.Build{Version: product, Revision: VersionInfo(product, build).GitCommit}
}

// GitVersion returns the gitVersion in /version: the protocol's version with the product's as build metadata (Semantic Versioning,
// section 10), as in distributions of Kubernetes.
func GitVersion(product string) string {
	return ProtocolVersion + "+revtail" + buildMetadata(product)
}

// VersionInfo returns the document of /version. Its date is that of the commit, so that builds are reproducible.
func VersionInfo(product string, build *debug.BuildInfo) version.Info {
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

// buildMetadata converts a version to build metadata of another version: ".0.3.1-rc.1".
func buildMetadata(product string) string {
	identifiers := strings.FieldsFunc(strings.TrimPrefix(product, "v"), func(c rune) bool {
		return c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	})
	if len(identifiers) == 0 {
		return ""
	}
	return "." + strings.Join(identifiers, ".")
}
