package clients

import (
	"os/exec"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestEtcdctl checks that etcdctl reaches the embedded etcd, and that the gateway serves objects that it writes under the prefix.
func TestEtcdctl(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	etcdctl := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), gatewaytest.Tool(t, "etcdctl"), append([]string{"--endpoints", gw.EtcdEndpoint}, args...)...)
		cmd.Env = []string{} // because etcdctl refuses the flag beside an ETCDCTL_ENDPOINTS of the tests' environment
		output, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("etcdctl %v: %v\n%s", args, err, output)
		}
		return string(output)
	}
	watch := gw.Watch(t, "/api/v1/configmaps?watch=1")
	etcdctl("put", "/registry/configmaps/default/a", gatewaytest.ConfigMap("a", "1"))
	if event := watch.Next(t); event.Type != "ADDED" || event.Object.Metadata.Name != "a" {
		t.Errorf("after etcdctl put: %s", event.Line)
	}
	gw.Patch(t, "/api/v1/namespaces/default/configmaps/a", `{"data":{"value":"2"}}`)
	watch.Next(t)
	if got := etcdctl("get", "--print-value-only", "/registry/configmaps/default/a"); !strings.Contains(got, `"value":"2"`) || strings.Contains(got, "resourceVersion") {
		t.Errorf("etcdctl get: %s, want the patched object without resourceVersion", got)
	}
	etcdctl("del", "/registry/configmaps/default/a")
	if event := watch.Next(t); event.Type != "DELETED" || event.Object.Data["value"] != "2" {
		t.Errorf("after etcdctl del: %s", event.Line)
	}
}
