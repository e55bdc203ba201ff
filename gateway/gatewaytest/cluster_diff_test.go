package gatewaytest_test

import (
	"bytes"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"revtail/gateway/gatewaytest"
)

// TestClusterDiff compares two snapshots of the etcd of a kube-apiserver, and gives that the manifest of an object as one of them has it.
func TestClusterDiff(t *testing.T) {
	t.Parallel()
	needCluster(t)
	etcd := gatewaytest.StartEtcd(t, 1)
	kube := gatewaytest.StartKubeAPIServer(t, etcd.Endpoints(), "--disable-admission-plugins", "ServiceAccount")
	admin := connect(t, kube.URL, "Bearer "+kube.Token, kube.TLS)
	folder := t.TempDir()
	const deploymentPath, path = "/apis/apps/v1/namespaces/default/deployments", "/apis/apps/v1/namespaces/default/deployments/web"
	must := func(request apiRequest) {
		t.Helper()
		if answer := admin.do(t, request); answer.Code >= http.StatusMultipleChoices {
			t.Fatalf("%s: %d %v", request.path, answer.Code, answer.Body)
		}
	}
	labels := map[string]any{"app": "web"}
	must(write(http.MethodPost, deploymentPath, map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{"replicas": 3, "selector": map[string]any{"matchLabels": labels}, "template": map[string]any{
			"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"containers": []any{map[string]any{"name": "web", "image": "web:1"}}},
		}},
	}))
	must(write(http.MethodPost, secrets, map[string]any{"metadata": map[string]any{"name": "s"}, "stringData": map[string]any{"p": "correct-horse"}}))
	before, after := filepath.Join(folder, "before.db"), filepath.Join(folder, "after.db")
	etcdctl(t, etcd.Endpoints(), "snapshot", "save", before)
	must(mergePatch(path, map[string]any{"spec": map[string]any{"replicas": 5}}))
	must(mergePatch(secrets+"/s", map[string]any{"stringData": map[string]any{"p": "battery-staple"}}))
	must(write(http.MethodPost, configMaps, map[string]any{"metadata": map[string]any{"name": "new"}}))
	etcdctl(t, etcd.Endpoints(), "snapshot", "save", after)

	run := func(args ...string) (string, int) {
		t.Helper()
		var said bytes.Buffer
		cmd := exec.CommandContext(t.Context(), gatewaytest.Binary(t), args...)
		cmd.Env, cmd.Stderr = withoutOptions(), &said
		output, err := cmd.Output()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() > 1 {
			t.Fatalf("%v: %v\n%s", args, err, &said)
		}
		return string(output), cmd.ProcessState.ExitCode()
	}
	changes, code := run("diff", before, after, "-n", "default")
	for _, want := range []string{"-  replicas: 3", "+  replicas: 5", "added configmap/new -n default", "changed secret/s -n default", "redacted"} {
		if !strings.Contains(changes, want) || code != 1 {
			t.Errorf("exit status %d: want %q in\n%s", code, want, changes)
		}
	}
	if strings.Contains(changes, "Y29ycmVjdC1ob3JzZQ") || strings.Contains(changes, "correct-horse") {
		t.Errorf("the value of a Secret is shown:\n%s", changes)
	}
	if same, status := run("diff", before, before); status != 0 {
		t.Errorf("a file and itself: exit status %d\n%s", status, same)
	}
	manifest, _ := run("restore", "deployment/web", "-n", "default", "--from", before)
	var object map[string]any
	if err := yaml.Unmarshal([]byte(manifest), &object); err != nil {
		t.Fatal(err)
	}
	must(applyPatch(path+"?force=true&fieldManager=restore", object))
	restored, _ := admin.do(t, read(path)).Body.(map[string]any)
	if spec, _ := restored["spec"].(map[string]any); spec["replicas"] != int64(3) {
		t.Errorf("restored: %v, want 3 replicas", spec)
	}
}
