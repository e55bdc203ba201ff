package gatewaytest_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestDoctorCluster checks what doctor finds in the etcd of a kube-apiserver, as root and as a user that may only read, and that it writes nothing.
func TestDoctorCluster(t *testing.T) {
	t.Parallel()
	needCluster(t)
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	keys, wrong := file("keys", encryptionOfCluster), file("wrong", strings.ReplaceAll(encryptionOfCluster, "MDEy", "OTEy"))
	etcd := gatewaytest.StartEtcd(t, 1)
	endpoint := etcd.Endpoints()
	kube := gatewaytest.StartKubeAPIServer(t, endpoint, "--encryption-provider-config", keys, "--etcd-compaction-interval", "2s")
	create := write(http.MethodPost, "/api/v1/namespaces/default/secrets", map[string]any{"metadata": map[string]any{"name": "a"}})
	if answer := connect(t, kube.URL, "Bearer "+kube.Token, kube.TLS).do(t, create); answer.Code != http.StatusCreated {
		t.Fatalf("a Secret: %d %v", answer.Code, answer.Body)
	}
	etcdctl(t, endpoint, "put", "/registry/pods/default/garbage", "nothing")
	etcdctl(t, endpoint, "put", "/registry/example.com/widgets/default/a", "{}")
	gw := gatewaytest.Start(t, "--cluster", "--etcd-endpoints", endpoint, "--encryption-provider-config", keys)

	wantSays(t, doctor(t, endpoint, gw.URL, 0), "warn  claim ", "give --cluster, here and to `revtail serve`")
	gatewaytest.Until(t, "two compactions", func() bool {
		return strings.Contains(doctor(t, endpoint, gw.URL, 0, "--cluster", "--encryption-provider-config", keys), "of history for watches")
	})
	said := doctor(t, endpoint, gw.URL, 0, "--cluster", "--encryption-provider-config", keys)
	wantSays(t, said, "ok    claim     the data under /registry is a cluster's", "warn  rights    etcd has no authentication", "ok    compacts  the kube-apiserver has compacted ",
		"k8s:enc:aescbc:v1:one:", "warn  content   1 values of pods cannot be decoded", "1 keys under /registry/example.com/widgets/ are of no kind", "ok    gateway ")
	if strings.Contains(said, "of no kind that is known, such as \"/registry/ranges") || strings.Contains(said, "masterleases/ are") {
		t.Errorf("keys of the kube-apiserver's own are reported:\n%s", said)
	}
	for _, args := range [][]string{{"--cluster"}, {"--cluster", "--encryption-provider-config", wrong}} {
		wantSays(t, doctor(t, endpoint, gw.URL, 1, args...), "FAIL  providers 1 values of secrets cannot be decrypted, such as \"/registry/secrets/default/a\": it begins with \"k8s:enc:aescbc:v1:one:\"")
	}
	wantSays(t, doctor(t, endpoint, gw.URL, 1, "--cluster", "--encryption-provider-config", filepath.Join(dir, "absent")), "FAIL  providers --encryption-provider-config: open ")

	kubeconfig := file("kubeconfig", "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: x}}]\nusers: [{name: u, user: {token: "+kube.Token+
		"}}]\ncontexts: [{name: c, context: {cluster: c, user: u}}]\ncurrent-context: c\n")
	beside := []string{"--cluster", "--encryption-provider-config", keys, "--kube-apiserver", kube.URL, "--kube-apiserver-ca-file", file("ca", string(kube.CA)), "--authentication-kubeconfig", kubeconfig}
	wantSays(t, doctor(t, endpoint, gw.URL, 0, beside...), "ok    kube      "+kube.URL+" is ready", "ok    delegates ", "skip  proxy ")
	file("kubeconfig", strings.ReplaceAll(readFile(t, kubeconfig), kube.Token, "wrong-token"))
	wantSays(t, doctor(t, endpoint, gw.URL, 1, beside...), "FAIL  delegates ", "system:auth-delegator")
	kube.Stop(t)
	wantSays(t, doctor(t, endpoint, gw.URL, 1, beside...), "FAIL  kube ")

	for _, command := range []string{"user add root:secret", "user grant-role root root", "user add reader:secret", "role add reader",
		"role grant-permission reader --prefix read /registry/", "role grant-permission reader --prefix read revtail/", "user grant-role reader reader",
		"user add writer:secret", "role add writer", "role grant-permission writer --prefix readwrite /registry/pods/", "user grant-role writer writer", "user grant-role writer reader", "auth enable"} {
		etcdctl(t, endpoint, strings.Fields(command)...)
	}
	gw.Stop(t)
	password := file("password", "secret")
	for user, want := range map[string]string{
		"reader": `ok    rights    the user "reader" of etcd can only read`, "writer": `warn  rights    the user "writer" of etcd can write /registry/pods/. `,
		"root": `warn  rights    the user "root" of etcd can write every key. `,
	} {
		revision := etcdctl(t, endpoint, "--user=root:secret", "get", "none", "--write-out=fields")
		said := doctor(t, endpoint, gw.URL, 1, "--cluster", "--encryption-provider-config", keys, "--etcd-user", user, "--etcd-password-file", password)
		wantSays(t, said, want, "ok    providers ")
		if now := etcdctl(t, endpoint, "--user=root:secret", "get", "none", "--write-out=fields"); revisionIn(now) != revisionIn(revision) {
			t.Errorf("%s: doctor has written: %s, then %s", user, revision, now)
		}
	}
}

// revisionIn returns the line with the revision of an answer of etcdctl.
func revisionIn(answer string) string {
	_, after, _ := strings.Cut(answer, `"Revision"`)
	line, _, _ := strings.Cut(after, "\n")
	return line
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
