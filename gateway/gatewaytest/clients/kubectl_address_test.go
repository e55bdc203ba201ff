package clients

import (
	"os/exec"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestKubectlWithoutConfiguration checks that the default address of the gateway is the default address of kubectl.
func TestKubectlWithoutConfiguration(t *testing.T) {
	gatewaytest.InOwnNetwork(t, func(t *testing.T) {
		kubectl, home := gatewaytest.Tool(t, "kubectl"), t.TempDir()
		gw := gatewaytest.StartAsDocumented(t, home)
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
		if code := gw.Stop(t); code != 0 {
			t.Errorf("exit code of the gateway: %d, want 0", code)
		}
	})
}
