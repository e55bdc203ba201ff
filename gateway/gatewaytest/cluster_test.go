package gatewaytest_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"revtail/gateway/gatewaytest"
)

// TestCluster checks that a gateway over the etcd of a kube-apiserver answers as that does: about objects of every kind that it serves, and about
// those of the definitions of other projects. It compares whole answers, with all resourceVersions. A snapshot of the etcd has the same answers.
func TestCluster(t *testing.T) {
	t.Parallel()
	c := startReplica(t)
	resources := c.resources(t)
	each(t, resources, c.compareResource)
	const least = 60
	if len(resources) < least {
		t.Errorf("%d resources compared, want at least %d", len(resources), least)
	}
	t.Logf("%d answers about %d resources compared", c.answers.Load(), len(resources))
	c.compareSnapshot(t, resources)
}

// TestClusterUnderLoad checks that watches of a kube-apiserver and of a gateway over its etcd have the same events while objects are created,
// changed and deleted, and that a list that follows a write to the kube-apiserver has it.
func TestClusterUnderLoad(t *testing.T) {
	t.Parallel()
	c := startReplica(t)
	const pods, deployments, events = "/api/v1/namespaces/default/pods", "/apis/apps/v1/namespaces/default/deployments", "/api/v1/namespaces/default/events"
	var list unstructured.UnstructuredList
	c.decode(t, pods+"?limit=1", &list)
	for i := range 20 {
		name := fmt.Sprintf("load-%d", i)
		for path, object := range map[string]map[string]any{
			pods: {"spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i:1"}}}},
			deployments: {"spec": map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"a": "b"}}, "template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"a": "b"}}, "spec": map[string]any{"containers": []any{map[string]any{"name": "c", "image": "i"}}}}}},
			events: {"involvedObject": map[string]any{"namespace": "default"}, "reason": "Load"},
		} {
			object["metadata"] = map[string]any{"name": name}
			c.write(t, write(http.MethodPost, path, object))
			c.write(t, mergePatch(path+"/"+name, map[string]any{"metadata": map[string]any{"labels": map[string]any{"load": "true"}}}))
			if i%2 == 0 {
				c.write(t, write(http.MethodDelete, path+"/"+name, nil))
			}
		}
		now := c.revtail.do(t, read(pods+"/"+name))
		if want := c.kube.do(t, read(pods+"/"+name)); !reflect.DeepEqual(now, want) {
			t.Errorf("%s right after it was written (-kube-apiserver +revtail):\n%s", name, cmp.Diff(want, now))
		}
	}
	from := "&timeoutSeconds=1&resourceVersion=" + list.GetResourceVersion()
	for _, path := range []string{pods, deployments, events, "/apis/events.k8s.io/v1/namespaces/default/events"} {
		c.compareWatch(t, path+"?watch=1"+from)
		c.compareWatch(t, path+"?watch=1&labelSelector=load"+from)
	}
}

// encryptionOfCluster encrypts resources in each of the ways that need no plugin.
const encryptionOfCluster = `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers: [{aescbc: {keys: [{name: one, secret: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}]}}]
- resources: [configmaps, deployments.apps]
  providers: [{aesgcm: {keys: [{name: two, secret: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}]}}]
- resources: [services, events, ingresses.networking.k8s.io, issuers.cert-manager.io]
  providers: [{secretbox: {keys: [{name: three, secret: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}]}}]
`

// TestClusterEncrypted checks that a gateway decrypts what a kube-apiserver has encrypted, and names what it cannot decrypt.
func TestClusterEncrypted(t *testing.T) {
	t.Parallel()
	needCluster(t)
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "encryption.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	config := write(encryptionOfCluster)
	etcd := gatewaytest.StartEtcd(t, 1)
	kube := gatewaytest.StartKubeAPIServer(t, etcd.Endpoints(), "--disable-admission-plugins", unusedPlugins+",ServiceAccount", "--allow-privileged",
		"--encryption-provider-config", config)
	c := &replica{kube: connect(t, kube.URL, "Bearer "+kube.Token, kube.TLS)}
	c.fill(t)
	gw := gatewaytest.Start(t, "--cluster", "--etcd-endpoints", etcd.Endpoints(), "--encryption-provider-config", config)
	c.revtail = connect(t, gw.URL, "", nil)
	wantDecryption(t, gw, "[+]decryption ok")
	encrypted := []string{"/api/v1/secrets", "/api/v1/configmaps", "/apis/apps/v1/deployments", "/api/v1/services", "/api/v1/events", "/apis/events.k8s.io/v1/events", "/apis/networking.k8s.io/v1/ingresses"}
	for _, path := range append(encrypted, "/api/v1/pods") {
		var list unstructured.UnstructuredList
		c.decode(t, path, &list)
		c.compare(t, read(path+"?resourceVersionMatch=Exact&resourceVersion="+list.GetResourceVersion()))
		if len(list.Items) == 0 {
			t.Errorf("%s has no objects", path)
		}
	}
	// The keys have other names: a wrong key of AES-CBC decrypts one value in 256 to bytes with a valid padding.
	wrong := write(strings.ReplaceAll(strings.ReplaceAll(encryptionOfCluster, "MDEy", "OTEy"), "{name: ", "{name: other-"))
	for name, args := range map[string][]string{"no keys": nil, "wrong keys": {"--encryption-provider-config", wrong}} {
		other := gatewaytest.Start(t, append(args, "--cluster", "--etcd-endpoints", etcd.Endpoints())...)
		wantDecryption(t, other, "[-]decryption failed: ", `a value of secrets cannot be decrypted: it begins with "k8s:enc:aescbc:v1:one:"`,
			`a value of services cannot be decrypted: it begins with "k8s:enc:secretbox:v1:three:"`)
		if got := gatewaytest.Metric(t, other.URL+"/metrics", `revtail_decryption_failing{resource="secrets"}`); got != "1" {
			t.Errorf("%s: revtail_decryption_failing is %q", name, got)
		}
		if a := other.Do(t, http.MethodGet, "/api/v1/secrets", ""); a.Code != http.StatusInternalServerError || !strings.Contains(a.Body, "/registry/secrets/") {
			t.Errorf("%s: %d %.300s, want 500 that names a key", name, a.Code, a.Body)
		}
		if a := other.Do(t, http.MethodGet, "/api/v1/pods", ""); a.Code != http.StatusOK {
			t.Errorf("%s: pods: %d %.300s", name, a.Code, a.Body)
		}
		if args == nil {
			continue
		}
		if err := os.WriteFile(wrong, []byte(encryptionOfCluster), 0o600); err != nil {
			t.Fatal(err)
		}
		other.Hangup(t)
		wantDecryption(t, other, "[+]decryption ok", "readyz check passed")
	}
}

// wantDecryption waits until the readiness of a gateway has all texts. It names no object.
func wantDecryption(t *testing.T, gw *gatewaytest.Gateway, texts ...string) {
	t.Helper()
	var got gatewaytest.Answer
	defer func() { t.Logf("readiness: %d %s", got.Code, got.Body) }()
	gatewaytest.Until(t, fmt.Sprintf("readiness with %q", texts), func() bool {
		got = gw.Do(t, http.MethodGet, "/readyz?verbose", "")
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(got.Body, text) })
	})
	if ready := strings.Contains(got.Body, "[+]decryption"); ready != (got.Code == http.StatusOK) || strings.Contains(got.Body, "/registry/secrets") {
		t.Errorf("readiness: %d %s", got.Code, got.Body)
	}
}

// TestClusterWritesNothing checks that a gateway serves everything with a user that may only read, and that etcd has no new revision meanwhile.
func TestClusterWritesNothing(t *testing.T) {
	t.Parallel()
	needCluster(t)
	etcd := gatewaytest.StartEtcd(t, 1)
	kube := gatewaytest.StartKubeAPIServer(t, etcd.Endpoints(), "--disable-admission-plugins", unusedPlugins+",ServiceAccount", "--allow-privileged")
	c := &replica{kube: connect(t, kube.URL, "Bearer "+kube.Token, kube.TLS)}
	c.fill(t)
	resources := c.resources(t)
	kube.Stop(t)
	before := gatewaytest.DialEtcd(t, etcd.Endpoints()).Revision(t)
	for _, command := range []string{"user add root:secret", "user grant-role root root", "user add reader:secret", "role add reader",
		"role grant-permission reader --prefix read /registry/", "role grant-permission reader --prefix read revtail/", "user grant-role reader reader", "auth enable"} {
		etcdctl(t, etcd.Endpoints(), strings.Fields(command)...)
	}
	password := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(password, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	gw := gatewaytest.Start(t, "--cluster", "--etcd-endpoints", etcd.Endpoints(), "--etcd-user", "reader", "--etcd-password-file", password)
	if !strings.Contains(gw.ReadyLine, "data=kube-apiserver mode=read-only") {
		t.Errorf("ready line: %s", gw.ReadyLine)
	}
	for _, r := range resources {
		if a := gw.Do(t, http.MethodGet, r.path, ""); a.Code != http.StatusOK {
			t.Errorf("%s: %d %.300s", r.path, a.Code, a.Body)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodDelete} {
		if a := gw.Do(t, method, "/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"x"}}`); a.Code != http.StatusMethodNotAllowed || !strings.Contains(a.Body, "kube-apiserver") {
			t.Errorf("%s: %d %s, want 405 that says why", method, a.Code, a.Body)
		}
	}
	<-time.After(11 * time.Second) // the gateway writes the time into an etcd of its own every ten seconds
	if now := etcdctl(t, etcd.Endpoints(), "--user=reader:secret", "get", "/registry/namespaces/default", "--write-out=json"); !strings.Contains(now, fmt.Sprintf(`"revision":%d,`, before)) {
		t.Errorf("revision %d before, now %.200s", before, now)
	}
	if log := gw.Log(t); strings.Contains(log, "permission denied") {
		t.Errorf("the gateway has tried what its user may not do:\n%s", log)
	}
}
