package clients

import (
	"path/filepath"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestKubectl runs the sessions in testdata/kubectl with unmodified kubectl, one subject in each.
func TestKubectl(t *testing.T) {
	t.Parallel()
	runSessions(t, "testdata/kubectl", gatewaytest.Tool(t, "kubectl"))
}

// runSessions runs the sessions of a folder, each as a test.
func runSessions(t *testing.T, folder, kubectl string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no sessions in %s: %v", folder, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			runSession(t, path, kubectl)
		})
	}
}
