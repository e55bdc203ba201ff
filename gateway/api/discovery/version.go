package discovery

import (
	"strings"

	"k8s.io/apimachinery/pkg/version"

	"revtail/gateway/config/buildinfo"
)

// The version of Kubernetes whose protocol the gateway speaks. Clients compare it with their own version: kubectl warns if the minor
// versions differ by more than one.
const (
	protocolMajor   = "1"
	protocolMinor   = "37"
	previousMinor   = "36" // the oldest compatible one
	ProtocolVersion = "v" + protocolMajor + "." + protocolMinor + ".0"
)

// GitVersion returns the gitVersion in /version: the protocol's version with the product's as build metadata (Semantic Versioning,
// section 10), as in distributions of Kubernetes.
func GitVersion(product string) string {
	return ProtocolVersion + "+revtail" + buildMetadata(product)
}

// VersionInfo returns the document of /version. Its date is that of the commit.
func VersionInfo(build buildinfo.Info) version.Info {
	return version.Info{
		Major: protocolMajor, Minor: protocolMinor,
		EmulationMajor: protocolMajor, EmulationMinor: protocolMinor,
		MinCompatibilityMajor: protocolMajor, MinCompatibilityMinor: previousMinor,
		GitVersion: GitVersion(build.Version), GitCommit: build.Commit, GitTreeState: build.TreeState, BuildDate: build.Date,
		GoVersion: build.Go, Compiler: build.Compiler, Platform: build.Platform,
	}
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
