package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestOldKubectl runs the sessions in testdata/kubectl-debian with Debian's kubectl: 1.20 in its release 12.
func TestOldKubectl(t *testing.T) {
	t.Parallel()
	kubectl, err := exec.LookPath(filepath.Join(os.Getenv("REVTAIL_TOOLS"), "kubectl-debian"))
	if err != nil {
		t.Skipf("no kubectl of Debian: `make tools` gets it with apt-get, if that has kubernetes-client: %v", err)
	}
	runSessions(t, "testdata/kubectl-debian", kubectl)
}
