package clients

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

const corefile = `apiVersion: v1
kind: ConfigMap
metadata:
  name: coredns
  namespace: kube-system
data:
  Corefile: |
    .:53 {
        errors
        kubernetes cluster.local in-addr.arpa ip6.arpa
        forward . /etc/resolv.conf
        cache CACHE
    }
`

// TestKubectl applies, reads, edits and deletes without any configuration, while a watch looks on.
func TestKubectl(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	kubectl := kubectlFor(t, gw)
	watch := gw.Watch(t, "/api/v1/watch/namespaces/kube-system/configmaps/coredns")
	for _, step := range []struct {
		stdin string
		args  string
		want  string // in what kubectl says
		event string // the type of the event that must follow; empty: none
		cache string // in the event's object
	}{
		{"", "get configmaps -A", "No resources found", "", ""},
		{strings.Replace(corefile, "CACHE", "30", 1), "apply -f -", "configmap/coredns created", "ADDED", "cache 30\n"},
		{strings.Replace(corefile, "CACHE", "30", 1), "apply -f -", "configmap/coredns unchanged", "", ""},
		{"", "-n kube-system get configmap coredns", "coredns", "", ""},
		{"", "-n kube-system get cm coredns -o yaml", "cache 30\n", "", ""},
		{"", "-n kube-system edit configmap coredns", "configmap/coredns edited", "MODIFIED", "cache 31\n"},
		{strings.Replace(corefile, "CACHE", "32", 1), "apply -f -", "configmap/coredns configured", "MODIFIED", "cache 32\n"},
		{"", "-n kube-system delete configmap coredns", `configmap "coredns" deleted`, "DELETED", "cache 32\n"},
		{"", "-n kube-system get configmap coredns", "Error from server (NotFound)", "", ""},
	} {
		if got := kubectl(step.stdin, strings.Fields(step.args)...); !strings.Contains(got, step.want) {
			t.Fatalf("kubectl %s: %s\nwant %q", step.args, got, step.want)
		}
		if step.event == "" {
			continue
		}
		if event := watch.Next(t); event.Type != step.event || !strings.Contains(event.Object.Data["Corefile"], step.cache) {
			t.Errorf("after kubectl %s the watch shows %s, want %s with %q", step.args, event.Line, step.event, step.cache)
		}
	}
}

// kubectlFor returns kubectl for a gateway, with an editor that changes the cache time to 31 s. It returns all that kubectl
// says.
func kubectlFor(t *testing.T, gw *gatewaytest.Gateway) func(stdin string, args ...string) string {
	t.Helper()
	program, home := gatewaytest.Tool(t, "kubectl"), t.TempDir()
	return func(stdin string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), program, append([]string{"--server", gw.URL}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		cmd.Dir = home
		cmd.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin", `KUBE_EDITOR=sed -i "s/cache 30/cache 31/"`, "KUBECONFIG=" + filepath.Join(home, "absent")}
		output, err := cmd.CombinedOutput()
		if err != nil && len(output) == 0 {
			t.Fatalf("kubectl %v: %v", args, err)
		}
		return string(output)
	}
}

// TestEtcdctl: etcdctl reaches the embedded etcd, and what it writes under the prefix is served.
func TestEtcdctl(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	etcdctl := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), gatewaytest.Tool(t, "etcdctl"), append([]string{"--endpoints", gw.EtcdEndpoint}, args...)...)
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
		t.Errorf("etcdctl get: %s, want the object as it was patched, without resourceVersion", got)
	}
	etcdctl("del", "/registry/configmaps/default/a")
	if event := watch.Next(t); event.Type != "DELETED" || event.Object.Data["value"] != "2" {
		t.Errorf("after etcdctl del: %s", event.Line)
	}
}
