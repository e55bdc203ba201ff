package gatewaytest_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// behind is a gateway with a kube-apiserver behind it. Both read one etcd.
type behind struct {
	etcd    *gatewaytest.Cluster
	kube    *gatewaytest.KubeAPIServer
	gateway *gatewaytest.Gateway
	carol   tls.Certificate // of a client, for both

	gatewayCA []byte      // of the gateway's certificate
	trust     *tls.Config // of that
	args      []string    // of the gateway, without its etcd
}

// startBehind starts a kube-apiserver with RBAC, and a gateway with more arguments whose clients are those of the kube-apiserver.
func startBehind(t *testing.T, more ...string) *behind {
	t.Helper()
	return startBehindWith(t, nil, more...)
}

// startBehindWith is startBehind with further arguments for the kube-apiserver.
func startBehindWith(t *testing.T, ofKube []string, more ...string) *behind {
	t.Helper()
	needCluster(t)
	etcd, dir := gatewaytest.StartEtcd(t, 1), t.TempDir()
	write := func(name string, content []byte) (path string) {
		t.Helper()
		path = filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	clients, proxies, gateways := gatewaytest.NewAuthority(t, "clients"), gatewaytest.NewAuthority(t, "front-proxies"), gatewaytest.NewAuthority(t, "gateways")
	clientCA := write("clients.crt", clients.PEM)
	b := &behind{etcd: etcd, trust: &tls.Config{RootCAs: gateways.Pool()}, carol: clients.Issue(t, "carol", func(c *x509.Certificate) { c.Subject.Organization = []string{"dev"} }).TLS(t)}
	b.kube = gatewaytest.StartKubeAPIServer(t, etcd.Endpoints(), append(ofKube,
		"--token-auth-file", write("tokens", []byte("administrator,admin,admin,\"system:masters\"\nalice-token,alice,1\nbob-token,bob,2\nrevtail-token,system:revtail,3\n")),
		"--client-ca-file", clientCA, "--requestheader-client-ca-file", write("proxies.crt", proxies.PEM), "--requestheader-allowed-names", "front-proxy-client",
		"--requestheader-username-headers", "X-Remote-User", "--requestheader-group-headers", "X-Remote-Group", "--requestheader-extra-headers-prefix", "X-Remote-Extra-")...)
	b.prepare(t)
	frontCert, frontKey := proxies.Issue(t, "front-proxy-client").Write(t, dir, "front-proxy-client")
	cert, key := gateways.Issue(t, "localhost").Write(t, dir, "tls")
	b.args = append(more, "--tls-cert-file", cert, "--tls-private-key-file", key, "--client-ca-file", clientCA,
		"--kube-apiserver-ca-file", write("kube.crt", b.kube.CA), "--proxy-client-cert-file", frontCert, "--proxy-client-key-file", frontKey,
		"--authentication-kubeconfig", write("revtail.conf", []byte("apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"+
			"clusters: [{name: a, cluster: {server: "+b.kube.URL+"}}]\nusers: [{name: a, user: {token: revtail-token}}]\n")))
	b.gateway, b.gatewayCA = b.start(t, etcd.Endpoints()), gateways.PEM
	return b
}

// start starts a gateway. It is the only place that does.
func (b *behind) start(t *testing.T, endpoints string) *gatewaytest.Gateway {
	t.Helper()
	g := gatewaytest.Start(t, append([]string{"--cluster", "--etcd-endpoints", endpoints, "--kube-apiserver", b.kube.URL}, b.args...)...)
	g.TLS = b.trust
	return g
}

// rbacPath is the path of roles and their bindings.
const rbacPath = "/apis/rbac.authorization.k8s.io/v1"

// prepare makes the objects and the rights of the users. alice may read the ConfigMaps of the namespace a, bob everything there, carol those of
// her group; alice may act as bob.
func (b *behind) prepare(t *testing.T) {
	t.Helper()
	admin := b.direct(b.kube.Token)
	for _, namespace := range []string{"a", "b"} {
		admin.Create(t, "/api/v1/namespaces", `{"metadata":{"name":"`+namespace+`"}}`)
		admin.Create(t, "/api/v1/namespaces/"+namespace+"/configmaps", `{"metadata":{"name":"one","labels":{"app":"web"}},"data":{"k":"v"}}`)
		admin.Create(t, "/api/v1/namespaces/"+namespace+"/secrets", `{"metadata":{"name":"one"},"stringData":{"k":"v"}}`)
	}
	role := func(path, name, rules string) {
		admin.Create(t, rbacPath+path, `{"metadata":{"name":"`+name+`"},"rules":[`+rules+`]}`)
	}
	bind := func(path, kind, name, subject string) {
		admin.Create(t, rbacPath+path, `{"metadata":{"name":"`+name+`"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"`+kind+`","name":"`+name+
			`"},"subjects":[`+subject+`]}`)
	}
	user := func(name string) string {
		return `{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"` + name + `"}`
	}
	const inA = "/namespaces/a"
	role(inA+"/roles", "reader", `{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","list","watch"]}`)
	bind(inA+"/rolebindings", "Role", "reader", user("alice")+`,{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"dev"}`)
	role(inA+"/roles", "owner", `{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}`)
	bind(inA+"/rolebindings", "Role", "owner", user("bob"))
	role("/clusterroles", "as-bob", `{"apiGroups":[""],"resources":["users"],"resourceNames":["bob"],"verbs":["impersonate"]}`)
	bind("/clusterrolebindings", "ClusterRole", "as-bob", user("alice"))
	bind("/clusterrolebindings", "ClusterRole", "system:auth-delegator", user("system:revtail"))
}

// direct returns the kube-apiserver itself, for the user of a token.
func (b *behind) direct(token string, certificate ...tls.Certificate) *gatewaytest.Gateway {
	server := &gatewaytest.Gateway{URL: b.kube.URL, TLS: b.kube.TLS}
	return server.As(token, certificate...)
}

// askAs sends a request with further headers, and returns the code and the decoded body.
func askAs(t *testing.T, g *gatewaytest.Gateway, method, path, body string, header ...string) (code int, answer any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, g.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if g.Token != "" {
		req.Header.Set("Authorization", "Bearer "+g.Token)
	}
	req.Header.Set("Accept", "application/json")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	transport := &http.Transport{TLSClientConfig: g.TLS, DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // it has been read
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var decoded any
	if json.Unmarshal(text, &decoded) != nil {
		decoded = string(text)
	}
	return resp.StatusCode, decoded
}

// comparableBody removes the revision of a list, which is that of etcd when it was read, the kind of its items, which a gateway writes and a
// kube-apiserver does not, and the time of a review.
func comparableBody(body any) any {
	object, ok := body.(map[string]any)
	if !ok {
		return body
	}
	if kind, _ := object["kind"].(string); strings.HasSuffix(kind, "Review") {
		delete(object, "metadata")
	}
	items, _ := object["items"].([]any)
	meta, _ := object["metadata"].(map[string]any)
	if object["items"] != nil {
		delete(meta, "resourceVersion")
		if meta["continue"] == "" {
			delete(meta, "continue")
		}
	}
	for _, item := range items {
		if of, ok := item.(map[string]any); ok {
			delete(of, "kind")
			delete(of, "apiVersion")
		}
	}
	return body
}

// TestBehindIsTheSame checks that every user sees through the gateway what the kube-apiserver shows that user.
func TestBehindIsTheSame(t *testing.T) {
	t.Parallel()
	b := startBehind(t)
	type user struct {
		name            string
		direct, through *gatewaytest.Gateway
	}
	users := []user{{"carol", b.direct("", b.carol), b.gateway.As("", b.carol)}}
	for _, token := range []string{"alice-token", "bob-token", "administrator", "invalid", ""} {
		users = append(users, user{token, b.direct(token), b.gateway.As(token)})
	}
	as := func(name string, more ...string) []string { return append([]string{"Impersonate-User", name}, more...) }
	for _, request := range []struct {
		method, path, body string
		header             []string
	}{
		{method: "GET", path: "/api/v1/namespaces/a/configmaps/one"},
		{method: "GET", path: "/api/v1/namespaces/a/configmaps/none"},
		{method: "GET", path: "/api/v1/namespaces/a/configmaps"},
		{method: "GET", path: "/api/v1/namespaces/a/configmaps?labelSelector=app%3Dweb"},
		{method: "GET", path: "/api/v1/namespaces/a/configmaps?fieldSelector=metadata.name%3Dnone"},
		{method: "GET", path: "/api/v1/namespaces/b/configmaps"},
		{method: "GET", path: "/api/v1/configmaps"},
		{method: "GET", path: "/api/v1/namespaces/a/secrets/one"},
		{method: "GET", path: "/api/v1/namespaces/a"},
		{method: "GET", path: "/apis/coordination.k8s.io/v1/namespaces/a/leases"},
		{method: "GET", path: "/api/v1/namespaces/a/configmaps/one", header: as("bob")},
		{method: "GET", path: "/api/v1/namespaces/a/secrets/one", header: as("bob")},
		{method: "GET", path: "/api/v1/namespaces/a/secrets/one", header: as("bob", "Impersonate-Group", "system:masters")},
		{method: "GET", path: "/api/v1/namespaces/a/secrets/one", header: as("system:serviceaccount:a:default")},
		{method: "GET", path: "/api/v1/namespaces/a/configmaps/one", header: []string{"X-Remote-User", "admin", "X-Remote-Group", "system:masters"}},
		{method: "GET", path: "/api/v1/namespaces/a/unknowns"},
		{method: "GET", path: "/apis/example.com/v1/things"},
		{method: "GET", path: "/api"},
		{method: "GET", path: "/apis"},
		{method: "GET", path: "/apis/apps/v1"},
		{method: "GET", path: "/version"},
		{method: "GET", path: "/openapi/v3"},
		{method: "POST", path: "/api/v1/namespaces/b/configmaps", body: `{"metadata":{"name":"one"}}`},
		{method: "POST", path: "/api/v1/namespaces/a/configmaps?dryRun=All", body: `{`},
		{method: "DELETE", path: "/api/v1/namespaces/a/configmaps/none"},
		{method: "POST", path: "/apis/authentication.k8s.io/v1/selfsubjectreviews", body: `{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`},
		{method: "POST", path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body: `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"resourceAttributes":{"verb":"list","resource":"configmaps","namespace":"a"}}}`},
		{method: "GET", path: "/api/v1/namespaces/a/pods/none/log"},
		{method: "POST", path: "/api/v1/namespaces/a/pods/none/exec?command=ls"},
	} {
		for _, u := range users {
			name := strings.TrimSpace(fmt.Sprintf("%s %s %s %v", u.name, request.method, request.path, request.header))
			code, body := askAs(t, u.direct, request.method, request.path, request.body, request.header...)
			got, gotBody := askAs(t, u.through, request.method, request.path, request.body, request.header...)
			if got != code || !reflect.DeepEqual(comparableBody(gotBody), comparableBody(body)) {
				t.Errorf("%s: %d %v\nwant %d %v", name, got, gotBody, code, body)
			}
		}
	}
}

// TestBehindReadsItsWrites checks that a write through the gateway is in every read that follows it there.
func TestBehindReadsItsWrites(t *testing.T) {
	t.Parallel()
	b := startBehind(t)
	bob := b.gateway.As("bob-token")
	for i := range 50 {
		name := fmt.Sprintf("written-%d", i)
		bob.Create(t, "/api/v1/namespaces/a/configmaps", `{"metadata":{"name":"`+name+`"}}`)
		bob.Get(t, "/api/v1/namespaces/a/configmaps/"+name)
		bob.Patch(t, "/api/v1/namespaces/a/configmaps/"+name, `{"data":{"i":"1"}}`)
		found := false
		for _, item := range bob.Get(t, "/api/v1/namespaces/a/configmaps").Items {
			found = found || item.Metadata.Name == name && item.Data["i"] == "1"
		}
		if !found {
			t.Fatalf("%s is not in the list after the write", name)
		}
		bob.Delete(t, "/api/v1/namespaces/a/configmaps/"+name)
		if answer := bob.Do(t, "GET", "/api/v1/namespaces/a/configmaps/"+name, ""); answer.Code != http.StatusNotFound {
			t.Fatalf("%s is there after its deletion: %d", name, answer.Code)
		}
	}
}

// TestBehindKubectl checks that kubectl works with nothing but another server.
func TestBehindKubectl(t *testing.T) {
	t.Parallel()
	program := gatewaytest.Tool(t, "kubectl")
	b := startBehind(t)
	dir := t.TempDir()
	manifest := filepath.Join(dir, "manifest.yaml")
	if err := os.WriteFile(manifest, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: applied, namespace: a}\ndata: {a: b}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(dir, "ca.crt")
	if err := os.WriteFile(ca, b.gatewayCA, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ args, want string }{
		{"auth whoami -o jsonpath={.status.userInfo.username}", "bob"},
		{"auth can-i delete configmaps -n a", "yes"},
		{"create configmap made -n a --from-literal=k=v", "configmap/made created"},
		{"get configmap made -n a -o jsonpath={.data.k}", "v"},
		{"label configmap made -n a x=y", "configmap/made labeled"},
		{"get configmaps -n a -l x=y -o name", "configmap/made"},
		{"patch configmap made -n a -p {\"data\":{\"k\":\"w\"}}", "configmap/made patched"},
		{"describe configmap made -n a", "x=y"},
		{"apply -f " + manifest, "configmap/applied created"},
		{"apply --server-side --force-conflicts -f " + manifest, "configmap/applied serverside-applied"},
		{"diff -f " + manifest, ""},
		{"explain configmap.data", "DESCRIPTION"},
		{"api-resources --api-group=apps -o name", "deployments.apps"},
		{"delete configmap made applied -n a --wait", "configmap \"made\" deleted"},
		{"get configmap made -n a --ignore-not-found", ""},
	} {
		args := append([]string{"--server", b.gateway.URL, "--certificate-authority", ca, "--token", "bob-token", "--cache-dir", filepath.Join(dir, "cache"), "--kubeconfig", "/dev/null"},
			strings.Fields(step.args)...)
		out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput() //nolint:gosec // the arguments are those of this test
		if err != nil || !strings.Contains(string(out), step.want) {
			t.Errorf("kubectl %s: %v\n%s", step.args, err, out)
		}
	}
}

// TestBehindRevokes checks that a watch ends when its user has lost the right to it, and that others go on.
func TestBehindRevokes(t *testing.T) {
	t.Parallel()
	b := startBehind(t)
	const configmaps = "/api/v1/namespaces/a/configmaps"
	alice, bob := b.gateway.As("alice-token").Watch(t, configmaps+"?watch=1"), b.gateway.As("bob-token").Watch(t, configmaps+"?watch=1")
	for _, w := range []*gatewaytest.Watch{alice, bob} {
		if event := w.Next(t); event.Type != "ADDED" {
			t.Fatalf("%+v", event)
		}
	}
	b.direct(b.kube.Token).Delete(t, "/apis/rbac.authorization.k8s.io/v1/namespaces/a/rolebindings/reader")
	for _, event := range alice.Rest(t) {
		if event.Type != "ERROR" || event.Object.Code != http.StatusForbidden {
			t.Errorf("the watch ends with %s", event.Line)
		}
	}
	b.gateway.As("bob-token").Create(t, configmaps, `{"metadata":{"name":"two"}}`)
	for event := bob.Next(t); event.Object.Metadata.Name != "two"; event = bob.Next(t) {
		if event.Type != "ADDED" {
			t.Fatalf("%+v", event)
		}
	}
}

// TestBehindOutlives checks that reads and watches go on while the kube-apiserver is away, and everything when it is back.
func TestBehindOutlives(t *testing.T) {
	t.Parallel()
	b := startBehind(t)
	const configmaps = "/api/v1/namespaces/a/configmaps"
	bob, alice, carol := b.gateway.As("bob-token"), b.gateway.As("alice-token"), b.gateway.As("", b.carol)
	for _, g := range []*gatewaytest.Gateway{bob, alice, carol} {
		g.Get(t, configmaps)
		g.Get(t, "/apis")
	}
	watch := alice.Watch(t, configmaps+"?watch=1")
	watch.Next(t)
	b.kube.Kill(t)
	gatewaytest.Until(t, "a gateway that says so", func() bool {
		answer := b.gateway.Do(t, "GET", "/readyz?verbose", "")
		return answer.Code == http.StatusOK && strings.Contains(answer.Body, "[!]kube-apiserver "+b.kube.URL+" does not answer since ")
	})
	for _, g := range []*gatewaytest.Gateway{bob, alice, carol} {
		g.Get(t, configmaps)
		if answer := g.Do(t, "GET", "/apis", ""); answer.Code != http.StatusOK || !strings.Contains(answer.Header.Get("Warning"), "the kube-apiserver does not answer") {
			t.Errorf("/apis: %d %v", answer.Code, answer.Header)
		}
		answer := g.Do(t, "POST", configmaps, `{"metadata":{"name":"two"}}`)
		if answer.Code != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" || answer.Object.Kind != "Status" {
			t.Errorf("a write: %+v", answer)
		}
	}
	for _, g := range []*gatewaytest.Gateway{alice, b.gateway.As("invalid"), b.gateway.As("administrator")} {
		if answer := g.Do(t, "GET", "/api/v1/namespaces/b/secrets", ""); answer.Code != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
			t.Errorf("a request of which nothing is known: %+v", answer)
		}
	}
	b.kube.Restart(t)
	gatewaytest.Until(t, "a write", func() bool {
		return bob.Do(t, "POST", configmaps, `{"metadata":{"name":"two"}}`).Code == http.StatusCreated
	})
	if event := watch.Next(t); event.Type != "ADDED" || event.Object.Metadata.Name != "two" {
		t.Errorf("the watch has %s", event.Line)
	}
	gatewaytest.Until(t, "a gateway without problems", func() bool {
		return strings.Contains(b.gateway.Do(t, "GET", "/readyz?verbose", "").Body, "[+]kube-apiserver ok")
	})
	if answer := alice.Do(t, "GET", "/api/v1/namespaces/b/secrets", ""); answer.Code != http.StatusForbidden {
		t.Errorf("a denied request: %d", answer.Code)
	}
}

// TestBehindRestarts checks that no watch ends because the kube-apiserver starts, which answers, and denies requests, before it has read its roles.
func TestBehindRestarts(t *testing.T) {
	t.Parallel()
	b := startBehind(t)
	const configmaps = "/api/v1/namespaces/a/configmaps"
	bob, administrator := b.gateway.As("bob-token"), b.gateway.As("administrator")
	watches := make([]*gatewaytest.Watch, 100) // of one decision each
	for i := range watches {
		watches[i] = b.gateway.As("alice-token").Watch(t, fmt.Sprintf("%s?watch=1&fieldSelector=metadata.name!%%3Dunused-%d", configmaps, i))
		watches[i].Next(t)
	}
	asked := 0
	reviews := func() int { // of watches, and zero while the gateway has no decision about the request for its metrics
		answer := administrator.Do(t, http.MethodGet, "/metrics", "")
		if answer.Code != http.StatusOK {
			return 0
		}
		asked++
		n, err := strconv.Atoi(answer.Metric(`revtail_kube_apiserver_decisions_total{result="allowed",review="SubjectAccessReview"}`))
		if err != nil {
			t.Fatal(err)
		}
		return n - asked
	}
	for i := range 3 {
		b.kube.Kill(t)
		b.kube.Restart(t)
		before, name := 0, fmt.Sprint("made-", i)
		gatewaytest.Until(t, "a gateway that decides", func() bool { before = reviews(); return before > 0 })
		gatewaytest.Until(t, "reviews of all watches", func() bool { return reviews() >= before+len(watches) })
		bob.Create(t, configmaps, `{"metadata":{"name":"`+name+`"}}`)
		for _, watch := range watches {
			if event := watch.Next(t); event.Type != "ADDED" || event.Object.Metadata.Name != name {
				t.Fatalf("after start %d a watch has %s", i, event.Line)
			}
		}
	}
}
