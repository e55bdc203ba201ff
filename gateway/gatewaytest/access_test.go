package gatewaytest_test

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

const rbac = "---\napiVersion: rbac.authorization.k8s.io/v1\n"

// bind gives a user a ClusterRole in all namespaces.
func bind(user, role string) string {
	return fmt.Sprintf(rbac+"kind: ClusterRoleBinding\nmetadata: {name: %q}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %q}\n"+
		"subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %q}]\n", user+" "+role, role, user)
}

// bindInA gives a user a ClusterRole in the namespace a.
func bindInA(user, role string) string {
	return fmt.Sprintf(rbac+"kind: RoleBinding\nmetadata: {name: %q, namespace: a}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %q}\n"+
		"subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %q}]\n", user+" "+role, role, user)
}

func role(name, rule string) string {
	return fmt.Sprintf(rbac+"kind: ClusterRole\nmetadata: {name: %s}\nrules: [%s]\n", name, rule)
}

// guarded is a gateway with authentication. A user's token is "token-of-" and the name.
type guarded struct {
	*gatewaytest.Gateway
	authority          *gatewaytest.Authority // of clients' certificates, and of the server's
	tokens, policy, ca string                 // the files
}

// startGuarded starts a guarded gateway over HTTPS or, so that event loops serve its watches, over HTTP.
func startGuarded(t *testing.T, secure bool, users []string, policy string, args ...string) *guarded {
	t.Helper()
	dir := t.TempDir()
	g := &guarded{tokens: filepath.Join(dir, "tokens.yaml"), policy: filepath.Join(dir, "policy.yaml"), ca: filepath.Join(dir, "ca.crt")}
	g.writeTokens(t, users...)
	replaceFile(t, g.policy, []byte(policy))
	args = append(args, "--token-file", g.tokens, "--policy-file", g.policy)
	if secure {
		g.authority = gatewaytest.NewAuthority(t, "authority")
		pair := g.authority.Issue(t, "server")
		cert, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
		replaceFile(t, cert, pair.Cert)
		replaceFile(t, key, pair.Key)
		replaceFile(t, g.ca, g.authority.PEM)
		args = append(args, "--tls-cert-file", cert, "--tls-private-key-file", key, "--client-ca-file", g.ca)
	}
	g.Gateway = gatewaytest.Start(t, args...)
	if secure {
		g.TLS = &tls.Config{RootCAs: g.authority.Pool()}
	}
	return g
}

func (g *guarded) writeTokens(t *testing.T, users ...string) {
	t.Helper()
	content := "apiVersion: revtail/v1\ntokens: []\n"
	if len(users) > 0 {
		content = "apiVersion: revtail/v1\ntokens:\n"
	}
	for _, user := range users {
		name, more, _ := strings.Cut(user, " ")
		content += fmt.Sprintf("- {user: %s, sha256: %s%s}\n", name, digest("token-of-"+name), more)
	}
	replaceFile(t, g.tokens, []byte(content))
}

func digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func (g *guarded) user(name string) *gatewaytest.Gateway { return g.As("token-of-" + name) }

func (g *guarded) bearer(t *testing.T, name string, change ...func(*x509.Certificate)) *gatewaytest.Gateway {
	t.Helper()
	return g.As("", g.authority.Issue(t, name, change...).TLS(t))
}

const (
	admin  = "{apiGroups: ['*'], resources: ['*'], verbs: ['*']}"
	reader = "{apiGroups: [''], resources: [configmaps], verbs: [get, list, watch]}"
	writer = "{apiGroups: [''], resources: [configmaps], verbs: ['*']}"
	oneMap = "{apiGroups: [''], resources: [configmaps], resourceNames: [one], verbs: [get, list, watch, update, patch, delete]}"
)

func maps(namespace string) string { return "/api/v1/namespaces/" + namespace + "/configmaps" }

// TestAccess is a table of users and requests through real HTTPS. A request without the right gets 403, whether or not the object exists.
func TestAccess(t *testing.T) {
	t.Parallel()
	g := startGuarded(t, true, []string{"root", "reader", "tenant", "one", "unprivileged", "updater"},
		bind("root", "cluster-admin")+bind("certified", "reader")+role("reader", reader)+role("writer", writer)+role("one", oneMap)+
			role("updater", "{apiGroups: [''], resources: [configmaps], verbs: [update, patch]}")+
			bind("reader", "reader")+bindInA("tenant", "writer")+bindInA("one", "one")+bindInA("updater", "updater"))
	root := g.user("root")
	for _, namespace := range []string{"a", "ab", "b"} {
		root.Create(t, maps(namespace), gatewaytest.ConfigMap("one", "canary"))
		root.Create(t, maps(namespace), gatewaytest.ConfigMap("two", "canary"))
	}
	put := gatewaytest.ConfigMap("one", "canary")
	requests := []struct{ name, method, path, body string }{
		{"get", "GET", maps("a") + "/one", ""},
		{"get another", "GET", maps("a") + "/two", ""},
		{"get an absent object", "GET", maps("a") + "/absent", ""},
		{"list", "GET", maps("a"), ""},
		{"list the one", "GET", maps("a") + "?fieldSelector=metadata.name%3Done", ""},
		{"list all but the one", "GET", maps("a") + "?fieldSelector=metadata.name%21%3Done", ""},
		{"list another namespace", "GET", maps("ab"), ""},
		{"list all namespaces", "GET", "/api/v1/configmaps", ""},
		{"list one namespace of all", "GET", "/api/v1/configmaps?fieldSelector=metadata.namespace%3Da", ""},
		{"secrets", "GET", "/api/v1/namespaces/a/secrets", ""},
		{"an unknown kind", "GET", "/apis/shop.example.com/v1/namespaces/a/orders", ""},
		{"the namespace", "GET", "/api/v1/namespaces/a", ""},
		{"create", "POST", maps("a") + "?dryRun=All", gatewaytest.ConfigMap("three", "")},
		{"update", "PUT", maps("a") + "/one?dryRun=All", put},
		{"update an absent object", "PUT", maps("a") + "/absent?dryRun=All", gatewaytest.ConfigMap("absent", "")},
		{"delete", "DELETE", maps("a") + "/one?dryRun=All", ""},
		{"delete all", "DELETE", maps("a") + "?dryRun=All", ""},
		{"metrics", "GET", "/metrics", ""},
		{"discovery", "GET", "/apis", ""},
		{"health", "GET", "/readyz", ""},
		{"nowhere", "GET", "/nowhere", ""},
	}
	who := []struct {
		name  string
		as    *gatewaytest.Gateway
		codes string // of the requests above, by their first digits: 2 yes, 3 is 403, 4 is 404, 1 is 401
	}{
		{"root", root, "224222224" + "242" + "22422" + "2224"},
		{"reader", g.user("reader"), "224222222" + "333" + "33333" + "3223"},
		{"certified", g.bearer(t, "certified"), "224222222" + "333" + "33333" + "3223"},
		{"tenant", g.user("tenant"), "224222333" + "333" + "22422" + "3223"},
		{"one", g.user("one"), "233323333" + "333" + "32323" + "3223"},
		{"updater", g.user("updater"), "333333333" + "333" + "32433" + "3223"},
		{"unprivileged", g.user("unprivileged"), "333333333" + "333" + "33333" + "3223"},
		{"an unknown token", g.As("token-of-an-unknown-user"), "111111111" + "111" + "11111" + "1121"},
		{"without credentials", g.As(""), "111111111" + "111" + "11111" + "1121"},
	}
	codes := map[byte]int{'1': 401, '2': 200, '3': 403, '4': 404}
	for _, subject := range who {
		want := []byte(subject.codes)
		if subject.name == "root" { // all namespaces at once, by a namespace: there is such a list
			want[8] = '2'
		}
		for i, request := range requests {
			answer := subject.as.Do(t, request.method, request.path, request.body)
			code := codes[want[i]]
			if code == 200 && request.method == "POST" {
				code = 201
			}
			if answer.Code != code {
				t.Errorf("%s: %s: %d, want %d\n%.300s", subject.name, request.name, answer.Code, code, answer.Body)
			}
			if code == 403 || code == 401 {
				wantRefusal(t, subject.name+": "+request.name, answer)
			}
		}
	}
}

// TestUpdateThatCreates checks that an update which creates its object needs the right to create, too.
func TestUpdateThatCreates(t *testing.T) {
	t.Parallel()
	const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
	group := "{apiGroups: [coordination.k8s.io], resources: [leases], verbs: "
	g := startGuarded(t, false, []string{"updates", "creates"},
		role("updates", group+"[update, patch]}")+role("creates", group+"[create, update]}")+bind("updates", "updates")+bind("creates", "creates"))
	body := `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"a"}}`
	answer := g.user("updates").Do(t, http.MethodPut, leases+"/a", body)
	if want := `leases.coordination.k8s.io "a" is forbidden: User "updates" cannot create resource "leases"`; answer.Code != 403 || !strings.HasPrefix(answer.Object.Message, want) {
		t.Errorf("an update that would create: %d %s", answer.Code, answer.Body)
	}
	if answer := g.user("creates").Do(t, http.MethodPut, leases+"/a", body); answer.Code != 201 {
		t.Errorf("an update that creates: %d %s", answer.Code, answer.Body)
	}
	if answer := g.user("updates").Do(t, http.MethodPut, leases+"/a", body); answer.Code != 422 { // an update of a Lease needs its resourceVersion
		t.Errorf("an update of an existing object: %d %s", answer.Code, answer.Body)
	}
}

// wantRefusal checks that a refusal is a Status that does not show whether the object exists.
func wantRefusal(t *testing.T, what string, answer gatewaytest.Answer) {
	t.Helper()
	reason := map[int]string{401: "Unauthorized", 403: "Forbidden"}[answer.Code]
	if answer.Object.Kind != "Status" || answer.Object.Reason != reason || strings.Contains(answer.Body, "canary") {
		t.Errorf("%s: %s", what, answer.Body)
	}
	if answer.Code == 401 && answer.Header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("%s: no WWW-Authenticate: %v", what, answer.Header)
	}
}

// TestReviews checks what kubectl auth can-i and kubectl auth whoami request.
func TestReviews(t *testing.T) {
	t.Parallel()
	g := startGuarded(t, false, []string{"tenant"}, role("writer", writer)+bindInA("tenant", "writer"))
	tenant := g.user("tenant")
	type review struct {
		Status struct {
			Allowed  bool
			Reason   string
			UserInfo struct {
				Username string
				Groups   []string
			}
			ResourceRules    []struct{ Verbs, Resources []string }
			NonResourceRules []struct{ NonResourceURLs []string }
		}
	}
	ask := func(path, kind, spec string) (r review) {
		t.Helper()
		group := strings.Split(path, "/")[2]
		body := fmt.Sprintf(`{"kind":%q,"apiVersion":"%s/v1","spec":%s}`, kind, group, spec)
		answer := tenant.Do(t, http.MethodPost, path, body)
		if err := json.Unmarshal([]byte(answer.Body), &r); err != nil || answer.Code != http.StatusCreated {
			t.Fatalf("%s: %d %s", path, answer.Code, answer.Body)
		}
		return r
	}
	can := func(spec string) bool {
		t.Helper()
		r := ask("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "SelfSubjectAccessReview", spec)
		if r.Status.Allowed != strings.HasPrefix(r.Status.Reason, "RBAC: allowed by RoleBinding") && r.Status.Allowed != strings.HasPrefix(r.Status.Reason, "RBAC: allowed by ClusterRoleBinding") {
			t.Errorf("%s: %+v", spec, r)
		}
		return r.Status.Allowed
	}
	for spec, want := range map[string]bool{
		`{"resourceAttributes":{"verb":"create","resource":"configmaps","namespace":"a"}}`:             true,
		`{"resourceAttributes":{"verb":"create","resource":"configmaps","namespace":"b"}}`:             false,
		`{"resourceAttributes":{"verb":"list","resource":"configmaps"}}`:                               false,
		`{"resourceAttributes":{"verb":"get","resource":"secrets","namespace":"a"}}`:                   false,
		`{"resourceAttributes":{"verb":"get","group":"apps","resource":"configmaps","namespace":"a"}}`: false,
		`{"resourceAttributes":{"verb":"get","resource":"configmaps","namespace":"a","name":"x"}}`:     true,
		`{"nonResourceAttributes":{"verb":"get","path":"/api"}}`:                                       true,
		`{"nonResourceAttributes":{"verb":"get","path":"/metrics"}}`:                                   false,
		`{"nonResourceAttributes":{"verb":"list","path":"/v1/keys/"}}`:                                 false,
	} {
		if got := can(spec); got != want {
			t.Errorf("%s: %v, want %v", spec, got, want)
		}
	}
	self := ask("/apis/authentication.k8s.io/v1/selfsubjectreviews", "SelfSubjectReview", "{}").Status.UserInfo
	if self.Username != "tenant" || len(self.Groups) != 1 || self.Groups[0] != "system:authenticated" {
		t.Errorf("the user is %+v", self)
	}
	rules := ask("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", "SelfSubjectRulesReview", `{"namespace":"a"}`).Status
	found := false
	for _, rule := range rules.ResourceRules {
		found = found || len(rule.Resources) == 1 && rule.Resources[0] == "configmaps"
	}
	if !found || len(rules.NonResourceRules) == 0 {
		t.Errorf("the rules of a: %+v", rules)
	}
}

// TestLosingRights checks that a watch whose user loses the right ends with an ERROR that says so and sends no further event, and that
// other watches continue. Over HTTP event loops serve the watches, over HTTPS goroutines.
func TestLosingRights(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS %v", secure), func(t *testing.T) {
			t.Parallel()
			roles := role("reader", reader) + role("admin", admin)
			g := startGuarded(t, secure, []string{"root", "stays", "loses", "leaves"},
				roles+bind("root", "admin")+bind("stays", "reader")+bind("loses", "reader")+bind("leaves", "reader"))
			stays, loses := g.user("stays").Watch(t, configMaps+"?watch=1"), g.user("loses").Watch(t, configMaps+"?watch=1")
			leaves := g.user("leaves").Watch(t, "/api/v1/watch/configmaps?allowWatchBookmarks=true&resourceVersion=1")
			root := g.user("root")
			root.Create(t, configMaps, gatewaytest.ConfigMap("before", ""))
			for _, w := range []*gatewaytest.Watch{stays, loses, leaves} {
				if event := w.Next(t); event.Object.Metadata.Name != "before" {
					t.Errorf("%s, want the earlier event", event.Line)
				}
			}

			replaceFile(t, g.policy, []byte(roles+bind("root", "admin")+bind("stays", "reader")+bind("leaves", "reader")))
			wantEnd(t, loses, 403, `configmaps is forbidden: User "loses" cannot watch resource "configmaps" in API group "" in the namespace "default"`)
			g.writeTokens(t, "root", "stays")
			wantEnd(t, leaves, 401, "Unauthorized")

			root.Create(t, configMaps, gatewaytest.ConfigMap("after", ""))
			if event := stays.Next(t); event.Object.Metadata.Name != "after" {
				t.Errorf("%s, want the later event", event.Line)
			}
			if secure {
				g.loseCertificate(t, root)
			}
			wantBadPolicy(t, g)
		})
	}
}

// wantEnd expects an ERROR with a Status, and then a clean end.
func wantEnd(t *testing.T, w *gatewaytest.Watch, code int, message string) {
	t.Helper()
	events := w.Rest(t)
	if len(events) != 1 || events[0].Type != "ERROR" || events[0].Object.Code != code || events[0].Object.Message != message {
		t.Errorf("the watch ends with %v, want an ERROR with %d and %q", events, code, message)
	}
}

// loseCertificate removes the authority of a client's certificate.
func (g *guarded) loseCertificate(t *testing.T, root *gatewaytest.Gateway) {
	t.Helper()
	watch := g.bearer(t, "stays").Watch(t, configMaps+"?watch=1&resourceVersion="+root.Get(t, configMaps).Metadata.ResourceVersion)
	keeps := root.Watch(t, configMaps+"?watch=1&resourceVersion="+root.Get(t, configMaps).Metadata.ResourceVersion)
	replaceFile(t, g.ca, gatewaytest.NewAuthority(t, "other").PEM)
	wantEnd(t, watch, 401, "Unauthorized")
	root.Create(t, configMaps, gatewaytest.ConfigMap("last", ""))
	if event := keeps.Next(t); event.Object.Metadata.Name != "last" {
		t.Errorf("%s, want the last event", event.Line)
	}
}

// wantBadPolicy checks that an unreadable policy changes nothing, and is logged.
func wantBadPolicy(t *testing.T, g *guarded) {
	t.Helper()
	replaceFile(t, g.policy, []byte("kind: Nonsense\n"))
	g.Hangup(t)
	gatewaytest.Until(t, "a line in the log", func() bool {
		return strings.Contains(g.Log(t), "a file has changed but cannot be used: what it said before stays in use")
	})
	if answer := g.user("stays").Do(t, http.MethodGet, configMaps, ""); answer.Code != 200 {
		t.Errorf("with an unreadable policy: %d, want the result of the earlier policy", answer.Code)
	}
}

// TestCredentialsExpire checks that a watch ends with the credentials of its request.
func TestCredentialsExpire(t *testing.T) {
	t.Parallel()
	g := startGuarded(t, false, []string{"root"}, bind("root", "cluster-admin")+bind("brief", "cluster-admin"))
	var until time.Time
	gatewaytest.Until(t, "a token of some seconds", func() bool {
		if time.Now().After(until) { // the machine was too slow for the previous one
			until = time.Now().Add(6 * time.Second)
			g.writeTokens(t, "root", "brief , expires: "+until.UTC().Format(time.RFC3339))
		}
		return g.user("brief").Do(t, http.MethodGet, "/version", "").Code == 200 && time.Until(until) > 2*time.Second
	})
	watch := g.user("brief").Watch(t, configMaps+"?watch=1")
	wantEnd(t, watch, 401, "Unauthorized")
	if answer := g.user("brief").Do(t, http.MethodGet, configMaps, ""); answer.Code != 401 {
		t.Errorf("after the token has expired: %d", answer.Code)
	}
}

// TestTooManyWatches checks the limit of watches per user.
func TestTooManyWatches(t *testing.T) {
	t.Parallel()
	g := startGuarded(t, false, []string{"root", "greedy"}, role("admin", admin)+bind("root", "admin")+bind("greedy", "admin"), "--max-watches-per-user", "3")
	greedy := g.user("greedy")
	first := greedy.Watch(t, configMaps+"?watch=1")
	for range 2 {
		greedy.Watch(t, configMaps+"?watch=1")
	}
	answer := greedy.Do(t, http.MethodGet, configMaps+"?watch=1&timeoutSeconds=1", "")
	if answer.Code != 429 || answer.Header.Get("Retry-After") == "" {
		t.Errorf("one above the limit: %d %v %s, want 429 with Retry-After", answer.Code, answer.Header, answer.Body)
	}
	g.user("root").Watch(t, configMaps+"?watch=1")
	first.Close()
	gatewaytest.Until(t, "a place after one has gone", func() bool {
		return greedy.Do(t, http.MethodGet, configMaps+"?watch=1&timeoutSeconds=1", "").Code == 200
	})
}
