package gatewaytest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Controllers is a process with Kubernetes' own controllers of deployments and replica sets.
type Controllers struct{ *process }

// StartControllers starts the controllers on a gateway; of several processes, the one with the lease acts. It ends with the test.
func StartControllers(tb testing.TB, gw *Gateway, identity string) *Controllers {
	tb.Helper()
	program := Tool(tb, "kubernetes-controllers")
	return &Controllers{launch(tb, identity, filepath.Join(tb.ArtifactDir(), identity+".log"), program, "--server", gw.URL, "--identity", identity)}
}

// WriteKubeconfig writes a kubeconfig for a gateway, and returns its path.
func WriteKubeconfig(tb testing.TB, gw *Gateway) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"clusters":[{"name":"c","cluster":{"server":%q}}],"contexts":[{"name":"c","context":{"cluster":"c"}}],"current-context":"c"}`, gw.URL)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}
