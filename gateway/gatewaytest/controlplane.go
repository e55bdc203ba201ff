package gatewaytest

import (
	"os"
	"path/filepath"
	"testing"
)

// StartControlPlane starts kube-controller-manager, kube-scheduler and KWOK, which runs all nodes of a gateway as its stages say (a file). They
// end with the test. The gateway leaves garbage collection to them: --garbage-collector=false --external-garbage-collector.
func StartControlPlane(tb testing.TB, gw *Gateway, stages string) {
	tb.Helper()
	kubeconfig, root := WriteKubeconfig(tb, gw), filepath.Join(tb.TempDir(), "root.crt")
	if err := os.WriteFile(root, NewAuthority(tb, "cluster").PEM, 0o600); err != nil {
		tb.Fatal(err)
	}
	for program, args := range map[string][]string{
		"kube-controller-manager": {"--secure-port=0", "--leader-elect=false", "--root-ca-file", root, "--resource-quota-sync-period=20s"}, // by default five minutes
		"kube-scheduler":          {"--secure-port=0", "--leader-elect=false"},
		"kwok":                    {"--config", stages, "--manage-all-nodes", "--node-lease-duration-seconds=20"},
	} {
		command := append([]string{Tool(tb, program), "--kubeconfig", kubeconfig}, args...)
		launch(tb, program, filepath.Join(tb.ArtifactDir(), program+".log"), command...)
	}
}
