package gatewaytest_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestMemoryLimitOfCgroup checks that the program takes its memory limit from its cgroup: nine tenths of it.
func TestMemoryLimitOfCgroup(t *testing.T) {
	t.Parallel()
	group := newCgroup(t, "314572800")
	gw := gatewaytest.StartIn(t, []string{"sh", "-c", `unset GOMEMLIMIT; echo $$ > "$1/cgroup.procs" && shift && exec "$@"`, "sh", group})
	if limit := gw.Do(t, "GET", "/metrics", "").Metric("go_gc_gomemlimit_bytes"); limit != "2.8311552e+08" {
		t.Errorf("a cgroup with 300 MiB: go_gc_gomemlimit_bytes is %q", limit)
	}
	if code := gw.Stop(t); code != 0 { // before the cgroup is removed
		t.Errorf("code %d", code)
	}
}

// newCgroup makes a cgroup with a limit of memory until the end of the test.
func newCgroup(t *testing.T, limit string) string {
	t.Helper()
	for _, version := range []struct{ root, file string }{{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"}} {
		dir, err := os.MkdirTemp(version.root, "revtail-test-") //nolint:usetesting // a cgroup is below the others
		if err != nil {
			continue
		}
		t.Cleanup(func() {
			gatewaytest.Until(t, "an empty cgroup", func() bool { return syscall.Rmdir(dir) == nil })
		})
		if _, err := os.Stat(filepath.Join(dir, version.file)); err != nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, version.file), []byte(limit), 0o600); err == nil {
			return dir
		}
	}
	t.Skip("this test makes a cgroup with a limit of memory, which this user or system does not allow")
	return ""
}
