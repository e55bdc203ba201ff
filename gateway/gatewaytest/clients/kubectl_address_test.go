package clients

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestKubectlWithoutConfiguration: the gateway listens by default where kubectl looks by default.
func TestKubectlWithoutConfiguration(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:8080")
	if err != nil {
		t.Skipf("the port is not free: %v", err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	kubectl, home := gatewaytest.Tool(t, "kubectl"), t.TempDir()
	serve := exec.CommandContext(t.Context(), gatewaytest.Binary(t), "serve", "--embedded-client-url", "http://127.0.0.1:0", "--data-dir", filepath.Join(home, "data"))
	serve.Env = []string{"HOME=" + home}
	serve.Cancel = func() error { return serve.Process.Signal(os.Interrupt) }
	stdout, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = serve.Wait() // it is interrupted: the exit code tells how it took that
		if code := serve.ProcessState.ExitCode(); code != 0 {
			t.Errorf("exit code of the gateway: %d, want 0", code)
		}
	})
	ready, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || !strings.HasPrefix(ready, "READY http=http://127.0.0.1:8080 ") {
		t.Fatalf("ready line %q: %v", ready, err)
	}
	for _, step := range []struct{ args, want string }{
		{"get configmaps", "No resources found in default namespace.\n"},
		{"create configmap a --from-literal=x=1", "configmap/a created\n"},
		{"get configmap a -o jsonpath={.data.x}", "1"},
		{"delete configmap a", "configmap \"a\" deleted from default namespace\n"},
	} {
		cmd := exec.CommandContext(t.Context(), kubectl, strings.Fields(step.args)...)
		cmd.Env = []string{"HOME=" + home}
		if output, err := cmd.CombinedOutput(); err != nil || string(output) != step.want {
			t.Errorf("kubectl %s: %v\n%s\nwant:\n%s", step.args, err, output, step.want)
		}
	}
}
