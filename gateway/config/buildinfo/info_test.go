package buildinfo

import (
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestRead(t *testing.T) {
	recorded := func(version string, settings ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{Main: debug.Module{Path: "revtail", Version: version}}
		for i := 0; i < len(settings); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: settings[i], Value: settings[i+1]})
		}
		return info
	}
	const commit, date = "c894459ab0f1c894459ab0f1c894459ab0f1aaaa", "2026-11-21T03:46:00Z"
	linked := Info{Version: "v0.2.0", Commit: "abc", Date: date}
	for name, test := range map[string]struct {
		recorded *debug.BuildInfo
		linked   Info
		want     Info
	}{
		"a tag": {recorded("v0.1.0", "vcs.revision", commit, "vcs.time", date, "vcs.modified", "false"), Info{},
			Info{Version: "v0.1.0", Commit: commit, Date: date, TreeState: "clean"}},
		"changes": {recorded("v0.1.1-0.20261121034600-c894459ab0f1+dirty", "vcs.revision", commit, "vcs.time", date, "vcs.modified", "true"), Info{},
			Info{Version: "v0.1.1-0.20261121034600-c894459ab0f1+dirty", Commit: commit, Date: date, TreeState: "dirty"}},
		"go install of a tag":                {recorded("v0.1.0"), Info{}, Info{Version: "v0.1.0"}},
		"go install of a commit":             {recorded("v0.0.0-20261121034600-c894459ab0f1"), Info{}, Info{Version: "v0.0.0-20261121034600-c894459ab0f1", Commit: "c894459ab0f1", Date: date}},
		"go install of a commit after a tag": {recorded("v0.1.1-0.20261121034600-c894459ab0f1"), Info{}, Info{Version: "v0.1.1-0.20261121034600-c894459ab0f1", Commit: "c894459ab0f1", Date: date}},
		"no version control":                 {recorded("(devel)"), Info{}, Info{Version: Unknown}},
		"no modules":                         {nil, Info{}, Info{Version: Unknown}},
		"an archive of the source":           {recorded("(devel)"), linked, linked},
		"a version is recorded":              {recorded("v0.1.0"), linked, Info{Version: "v0.1.0"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := read(test.recorded, test.linked)
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(Info{}, "Go", "Compiler", "Platform", "Without")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got.Go == "" || got.Compiler == "" || got.Platform == "" {
				t.Errorf("no Go, compiler or platform: %+v", got)
			}
		})
	}
}
