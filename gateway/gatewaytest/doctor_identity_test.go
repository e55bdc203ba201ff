package gatewaytest_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestDoctorClusterIdentities checks what doctor finds in a cluster whose etcd knows users by their certificates, and whose values a KMS plugin
// encrypts: users that can read and write, one that etcd does not know, and a plugin that is away.
func TestDoctorClusterIdentities(t *testing.T) {
	t.Parallel()
	needCluster(t)
	etcd, kms := gatewaytest.StartSecureEtcd(t), gatewaytest.StartKMS(t)
	keys := filepath.Join(t.TempDir(), "keys")
	config := "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n" + kms.Provider("vault")
	if err := os.WriteFile(keys, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := func(user string) []string {
		cert, key := etcd.WritePair(t, user, etcd.Clients.Issue(t, user))
		return []string{"--etcd-cacert", etcd.CA, "--etcd-cert", cert, "--etcd-key", key}
	}
	root := flags("root")
	kube := gatewaytest.StartKubeAPIServer(t, etcd.Endpoint, "--etcd-cafile", root[1], "--etcd-certfile", root[3], "--etcd-keyfile", root[5], "--encryption-provider-config", keys)
	create := write(http.MethodPost, "/api/v1/namespaces/default/secrets", map[string]any{"metadata": map[string]any{"name": "a"}})
	if answer := connect(t, kube.URL, "Bearer "+kube.Token, kube.TLS).do(t, create); answer.Code != http.StatusCreated {
		t.Fatalf("a Secret: %d %v", answer.Code, answer.Body)
	}
	kube.Stop(t)
	for _, command := range []string{"user add root --no-password", "user grant-role root root", "user add reader --no-password", "role add reader",
		"role grant-permission reader --prefix read /registry/", "role grant-permission reader --prefix read revtail/", "user grant-role reader reader",
		"user add writer --no-password", "role add writer", "role grant-permission writer --prefix readwrite /registry/", "user grant-role writer writer", "user grant-role writer reader", "auth enable"} {
		etcdctl(t, etcd.Endpoint, append([]string{"--cacert=" + root[1], "--cert=" + root[3], "--key=" + root[5]}, strings.Fields(command)...)...)
	}
	cluster := []string{"--cluster", "--encryption-provider-config", keys}
	gw := gatewaytest.Start(t, append(append(cluster, "--etcd-endpoints", etcd.Endpoint), flags("reader")...)...)
	if a := gw.Do(t, http.MethodGet, "/api/v1/namespaces/default/secrets/a", ""); a.Code != http.StatusOK {
		t.Errorf("the Secret: %d %s", a.Code, a.Body)
	}
	for user, want := range map[string]string{
		"reader": `ok    rights    the user "reader" of etcd can only read`,
		"writer": `warn  rights    the user "writer" of etcd can write /registry/. `,
		"root":   `warn  rights    the user "root" of etcd can write every key. `,
	} {
		said := doctor(t, etcd.Endpoint, gw.URL, 0, append(cluster, flags(user)...)...)
		wantSays(t, said, want, "ok    providers all encrypted values that were read can be decrypted: k8s:enc:kms:v2:vault:", "ok    claim ", "warn  expiry    the certificate of --etcd-cert is valid until ")
	}
	said := doctor(t, etcd.Endpoint, gw.URL, 1, append(cluster, flags("stranger")...)...)
	wantSays(t, said, `FAIL  etcd `, `refuses the login`, `the user "stranger" must exist in etcd, and may read /registry/ and revtail/`)
	kms.Stop()
	said = doctor(t, etcd.Endpoint, gw.URL, 1, append(cluster, flags("reader")...)...)
	wantSays(t, said, `FAIL  providers `, kms.Socket, "start the KMS plugin")
}
