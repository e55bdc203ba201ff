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

// ownNetwork is the variable of the environment that a process has whose network is its own.
const ownNetwork = "REVTAIL_TEST_OWN_NETWORK"

// documented are the addresses of the documents.
var documented = []string{"127.0.0.1:8080", "127.0.0.1:2379"}

// InOwnNetwork runs a test where 127.0.0.1:8080 and 127.0.0.1:2379 are free, the addresses of the documents, so that a command
// runs as it stands there: many have no address in them that a test could replace, because kubectl and revtail know it by
// themselves. On Linux the test runs in a process of its own, with a network of its own and, for kubectl, the files of a pod. Where
// that is not permitted it runs in this process, if the addresses are free; else it is skipped. The name of the test must be that
// of a function.
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

// runAgain runs the test in a process whose network is its own.
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
