package clients

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestWithoutWatchList runs the tests of informers and reflectors again, with a client-go that begins with a list, because the feature is
// set for a whole process.
func TestWithoutWatchList(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	again := exec.CommandContext(t.Context(), self, "-test.run", "^Test(Informer|Reflector)", "-test.v")
	again.Env = append(os.Environ(), "KUBE_FEATURE_WatchListClient=false", "REVTAIL_BINARY="+gatewaytest.Binary(t))
	output, err := again.CombinedOutput()
	if err != nil || !bytes.Contains(output, []byte("--- PASS: TestReflector ")) {
		t.Errorf("without watches that begin with the state: %v\n%s", err, output)
	}
}
