// Package buildinfo says what this program was built from: its version, commit and date, as the go command recorded them, and the parts that
// the build left out. All that show a version (`revtail version`, /version, the metrics, the log) take it from here.
package buildinfo

import (
	"cmp"
	"regexp"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// Unknown is the version of a program that was built without information about its source.
const Unknown = "(devel)"

// The linker sets these for sources without version control (-X revtail/gateway/config/buildinfo.version=v0.1.0). They are ignored if the go
// command has recorded a version.
var version, commit, date string

// Info is what a program was built from.
type Info struct {
	Version   string // v0.1.0; a pseudo-version of Go, as v0.1.1-0.20261121034600-c894459ab0f1; with +dirty; or Unknown
	Commit    string // empty: unknown
	TreeState string // clean or dirty; empty: unknown
	Date      string // of the commit, as 2026-11-21T03:46:00Z, so that builds are reproducible; empty: unknown
	Go        string // the version of Go
	Compiler  string
	Platform  string   // linux/amd64
	Without   []string // the parts that the build left out
}

// Get returns the Info of this program.
var Get = sync.OnceValue(func() Info {
	recorded, _ := debug.ReadBuildInfo() // nil in a program built without modules
	return read(recorded, Info{Version: version, Commit: commit, Date: date})
})

// read returns what the go command recorded, else what the linker was given.
func read(recorded *debug.BuildInfo, linked Info) Info {
	info := Info{Go: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if !Embedded {
		info.Without = append(info.Without, "embedded etcd")
	}
	if !OTLP {
		info.Without = append(info.Without, "OTLP traces")
	}
	if recorded == nil || recorded.Main.Version == "" || recorded.Main.Version == Unknown {
		info.Version, info.Commit, info.Date = cmp.Or(linked.Version, Unknown), linked.Commit, linked.Date
		return info
	}
	info.Version = recorded.Main.Version
	info.Commit, info.Date = fromPseudoVersion(info.Version)
	for _, setting := range recorded.Settings {
		switch setting.Key {
		case "vcs.revision":
			info.Commit = setting.Value
		case "vcs.time":
			info.Date = setting.Value
		case "vcs.modified":
			info.TreeState = map[string]string{"true": "dirty", "false": "clean"}[setting.Value]
		}
	}
	return info
}

var pseudoVersion = regexp.MustCompile(`[-.](\d{14})-([0-9a-f]{12})(?:\+|$)`)

// fromPseudoVersion returns the first digits of the commit and the date that a pseudo-version of Go contains. `go install …@main` records
// nothing else.
func fromPseudoVersion(version string) (commit, date string) {
	found := pseudoVersion.FindStringSubmatch(version)
	if found == nil {
		return "", ""
	}
	t, err := time.Parse("20060102150405", found[1])
	if err != nil {
		return "", ""
	}
	return found[2], t.Format(time.RFC3339)
}
