package gatewaytest

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// ownNetwork is the environment variable of a process with its own network.
const ownNetwork = "REVTAIL_TEST_OWN_NETWORK"

// documented are the addresses in the documents.
var documented = []string{"127.0.0.1:8080", "127.0.0.1:2379"}

// InOwnNetwork runs a test where 127.0.0.1:8080 and 127.0.0.1:2379, the addresses of the documents, are free, so that commands run
// unchanged: many have no address that a test could replace, because it is a default of kubectl and revtail. On Linux the test runs in
// another process with its own network and, for kubectl, the files of a pod. If that is not permitted it runs in this process if the
// addresses are free, and is skipped otherwise. The name of the test must be that of a function.
func InOwnNetwork(t *testing.T, test func(*testing.T)) {
	t.Helper()
	switch {
	case os.Getenv(ownNetwork) != "":
		enterNetwork(t)
		test(t)
	case !canOwnNetwork():
		skipUnlessFree(t)
		test(t)
	default:
		t.Parallel()
		runAgain(t)
	}
}

// skipUnlessFree skips a test that needs the addresses of the documents when other programs listen there.
func skipUnlessFree(t *testing.T) {
	t.Helper()
	for _, address := range documented {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Skipf("the system permits no network of its own to the test, and an address of the documents is not free: %v", err)
		}
		if err := listener.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// runAgain runs the test in a process with its own network.
func runAgain(t *testing.T) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-test.run", "^" + t.Name() + "$", "-test.v"}
	if deadline, ok := t.Deadline(); ok {
		args = append(args, "-test.timeout", time.Until(deadline).String())
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), ownNetwork+"=1", "REVTAIL_BINARY="+Binary(t))
	cmd.SysProcAttr = ownNetworkAttr()
	output, err := cmd.CombinedOutput()
	switch name := t.Name(); {
	case err != nil:
		t.Errorf("in a network of its own: %v\n%s", err, output)
	case bytes.Contains(output, []byte("--- SKIP: "+name)):
		t.Skip(strings.TrimSpace(string(output)))
	case !bytes.Contains(output, []byte("--- PASS: "+name)):
		t.Errorf("the test did not run in a network of its own:\n%s", output)
	}
}
