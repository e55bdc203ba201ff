package gatewaytest_test

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// impersonator may act as alice, in the group devs, with an extra and a uid, and as the service account ci of the namespace a.
const impersonator = `{apiGroups: [''], resources: [users], verbs: [impersonate], resourceNames: [alice]},
  {apiGroups: [''], resources: [groups], verbs: [impersonate], resourceNames: [devs]},
  {apiGroups: [authentication.k8s.io], resources: [userextras/acme.com/scope], verbs: [impersonate], resourceNames: [view]},
  {apiGroups: [authentication.k8s.io], resources: [uids], verbs: [impersonate], resourceNames: ['7']}`

const impersonationPolicy = `---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ci}
rules: [{apiGroups: [''], resources: [serviceaccounts], verbs: [impersonate], resourceNames: [ci]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: devs}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: writer}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: devs}]
`

func startImpersonation(t *testing.T, secure bool, args ...string) *guarded {
	t.Helper()
	return startGuarded(t, secure, []string{"root", "helper", "alice"}, bind("root", "cluster-admin")+role("impersonator", impersonator)+role("reader", reader)+
		role("writer", writer)+bind("helper", "impersonator")+bindInA("helper", "ci")+bindInA("alice", "reader")+impersonationPolicy, args...)
}

// TestImpersonation is a table of headers (kubectl --as): a request has the rights of the other user if the policy allows its user to
// impersonate that one, and each group, uid and extra.
func TestImpersonation(t *testing.T) {
	t.Parallel()
	g := startImpersonation(t, false)
	g.user("root").Create(t, maps("a"), gatewaytest.ConfigMap("one", ""))
	review := `{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}`
	const whoami = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
	for _, tt := range []struct {
		name, method, path, body string
		headers                  []string
		code                     int
		want                     string // in the answer
	}{
		{"without headers", "GET", maps("a"), "", nil, 403, `User \"helper\" cannot list`},
		{"a user", "GET", maps("a"), "", []string{"Impersonate-User: alice"}, 200, `"one"`},
		{"only that user's rights", "DELETE", maps("a") + "/one", "", []string{"Impersonate-User: alice"}, 403, `User \"alice\" cannot delete`},
		{"another user", "GET", maps("a"), "", []string{"Impersonate-User: root"}, 403, `users \"root\" is forbidden: User \"helper\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope`},
		{"a group", "GET", maps("b"), "", []string{"Impersonate-User: alice", "Impersonate-Group: devs"}, 200, `ConfigMapList`},
		{"another group", "GET", maps("a"), "", []string{"Impersonate-User: alice", "Impersonate-Group: devs", "Impersonate-Group: system:masters"}, 403, `groups \"system:masters\" is forbidden`},
		{"a group alone", "GET", maps("a"), "", []string{"Impersonate-Group: devs"}, 400, "without impersonating a user"},
		{"a uid alone", "GET", maps("a"), "", []string{"Impersonate-Uid: 7"}, 400, "without impersonating a user"},
		{"two users", "GET", maps("a"), "", []string{"Impersonate-User: alice", "Impersonate-User: root"}, 400, "want it once"},
		{"an unknown header", "GET", maps("a"), "", []string{"Impersonate-User: alice", "Impersonate-Role: root"}, 400, "unknown header Impersonate-Role"},
		{"another uid", "GET", maps("a"), "", []string{"Impersonate-User: alice", "Impersonate-Uid: 8"}, 403, `uids.authentication.k8s.io \"8\" is forbidden`},
		{"another extra", "GET", maps("a"), "", []string{"Impersonate-User: alice", "Impersonate-Extra-Acme.com%2fscope: edit"}, 403, `userextras.authentication.k8s.io \"edit\" is forbidden`},
		{"everything", "POST", whoami, review, []string{"impersonate-user: alice", "Impersonate-Group: devs", "Impersonate-Uid: 7", "Impersonate-Extra-Acme.com%2fscope: view"}, 201,
			`"userInfo":{"username":"alice","uid":"7","groups":["devs","system:authenticated"],"extra":{"acme.com/scope":["view"]}}`},
		{"a service account", "POST", whoami, review, []string{"Impersonate-User: system:serviceaccount:a:ci"}, 201,
			`"groups":["system:serviceaccounts","system:serviceaccounts:a","system:authenticated"]`},
		{"one of another namespace", "POST", whoami, review, []string{"Impersonate-User: system:serviceaccount:b:ci"}, 403, `serviceaccounts \"ci\" is forbidden`},
		{"discovery", "GET", "/api", "", []string{"Impersonate-User: root"}, 403, "cannot impersonate"},
		{"a ticket", "POST", "/v1/tickets", `{"path":"/api/v1/configmaps"}`, []string{"Impersonate-User: alice"}, 400, "a ticket cannot be issued"},
	} {
		resp, answer := ask(t, g.Gateway, tt.method, tt.path, tt.body, append(tt.headers, "Authorization: Bearer token-of-helper", "Content-Type: application/json")...)
		if resp.StatusCode != tt.code || !strings.Contains(answer, tt.want) {
			t.Errorf("%s: %d %s, want %d and %s", tt.name, resp.StatusCode, answer, tt.code, tt.want)
		}
	}
}

// TestImpersonationAudit checks that the audit log has both users, and /debug/watchers the one who made the request.
func TestImpersonationAudit(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "audit.log")
	g := startImpersonation(t, false, "--audit-log-path", file)
	if resp, answer := ask(t, g.Gateway, "GET", maps("a"), "", "Authorization: Bearer token-of-helper", "Impersonate-User: alice"); resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", resp.StatusCode, answer)
	}
	gatewaytest.Until(t, "a record with both users", func() bool {
		log, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(log), `"user":{"username":"helper","groups":["system:authenticated"]},"impersonatedUser":{"username":"alice","groups":["system:authenticated"]}`)
	})
}

// TestImpersonationWithKubectl checks that kubectl says in one line why an impersonation is refused, and shows what the other user may see. kubectl
// sends no token over plain HTTP.
func TestImpersonationWithKubectl(t *testing.T) {
	t.Parallel()
	kubectl := gatewaytest.Tool(t, "kubectl")
	g := startImpersonation(t, true)
	g.user("root").Create(t, maps("a"), gatewaytest.ConfigMap("one", ""))
	config := filepath.Join(t.TempDir(), "kubeconfig")
	replaceFile(t, config, []byte("apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: "+g.URL+", certificate-authority: "+g.ca+"}}]\n"+
		"contexts: [{name: c, context: {cluster: c, user: u, namespace: a}}]\nusers: [{name: u, user: {token: token-of-helper}}]\n"))
	run := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), kubectl, append([]string{"--kubeconfig", config, "--cache-dir", t.TempDir()}, args...)...)
		out, _ := cmd.CombinedOutput() // the exit code is that of the refusal
		return string(out)
	}
	if out := run("get", "configmaps", "--as", "alice"); !strings.Contains(out, "one ") {
		t.Errorf("as alice: %s", out)
	}
	if out := run("auth", "whoami", "--as", "alice", "--as-group", "devs"); !strings.Contains(out, "alice") || !strings.Contains(out, "devs") {
		t.Errorf("whoami as alice: %s", out)
	}
	out := run("get", "configmaps", "--as", "root")
	t.Log(out)
	if !strings.Contains(out, `User "helper" cannot impersonate resource "users"`) {
		t.Errorf("as root: %s", out)
	}
}

// TestImpersonationRevoked checks that an open watch ends when its user may no longer impersonate.
func TestImpersonationRevoked(t *testing.T) {
	t.Parallel()
	g := startImpersonation(t, false)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.URL+maps("a")+"?watch=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer token-of-helper"}, "Impersonate-User": {"alice"}}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the watch: %s", resp.Status)
	}
	replaceFile(t, g.policy, []byte(role("reader", reader)+bindInA("alice", "reader")))
	rest, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(rest), `User \"helper\" cannot impersonate`) || !strings.Contains(string(rest), `"code":403`) {
		t.Errorf("the end of the watch: %s (%v), want 403", rest, err)
	}
}
