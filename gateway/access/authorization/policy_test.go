package authorization_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"revtail/gateway/access/authorization"
)

func policy(t *testing.T) *authorization.Policy {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := authorization.Parse(content)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// subject is a user in groups.
type subject struct {
	name   string
	groups []string
}

func known(name string, groups ...string) subject {
	return subject{name, append(groups, "system:authenticated")}
}

// pods is a request about pods.
func pods(verb, namespace, name string) authorization.Attributes {
	return authorization.Attributes{Verb: verb, Resource: "pods", Namespace: namespace, Name: name}
}

func key(verb, key string) authorization.Attributes {
	return authorization.Attributes{Verb: verb, Key: key}
}

func path(verb, path string) authorization.Attributes {
	return authorization.Attributes{Verb: verb, Path: path}
}

// TestAllows is a table of the decisions of a policy; what no rule allows is denied.
func TestAllows(t *testing.T) {
	p := policy(t)
	admin, reader, dev := known("root", "admins"), known("reader"), known("dev", "developers")
	named, keeper, unbound := known("named"), known("keeper"), known("unbound")
	anonymous := subject{"system:anonymous", []string{"system:unauthenticated"}}
	builder := known("system:serviceaccount:eu:builder")
	for _, tt := range []struct {
		who  subject
		asks authorization.Attributes
		want bool
	}{
		{admin, pods("delete", "eu", "web"), true},
		{admin, pods("deletecollection", "", ""), true},
		{admin, path("get", "/metrics"), true},
		{admin, key("delete", "/anything"), true},

		// Everywhere, with restrictions.
		{reader, pods("get", "eu", "web"), true},
		{reader, pods("list", "", ""), true},
		{reader, pods("watch", "us", ""), true},
		{reader, pods("create", "eu", ""), false},
		{reader, authorization.Attributes{Verb: "get", Resource: "pods", Subresource: "status", Namespace: "eu", Name: "web"}, false},
		{reader, authorization.Attributes{Verb: "get", Group: "apps", Resource: "pods", Namespace: "eu", Name: "web"}, false},
		{reader, authorization.Attributes{Verb: "get", Resource: "secrets", Namespace: "eu", Name: "web"}, false},
		{reader, path("get", "/metrics"), false},

		// In one namespace.
		{dev, pods("create", "eu", ""), true},
		{dev, pods("list", "eu", ""), true},
		{dev, pods("list", "", ""), false},
		{dev, pods("list", "us", ""), false},
		{dev, pods("get", "eu2", "web"), false},
		{dev, authorization.Attributes{Verb: "update", Group: "apps", Resource: "deployments", Subresource: "scale", Namespace: "eu", Name: "web"}, true},
		{dev, authorization.Attributes{Verb: "update", Group: "apps", Resource: "deployments", Namespace: "eu", Name: "web"}, false},
		{builder, pods("create", "eu", ""), true},
		{builder, pods("create", "us", ""), false},

		// Some names: a collection is allowed if a selector limits it to one of them.
		{named, pods("get", "eu", "a"), true},
		{named, pods("list", "eu", "a"), true},
		{named, pods("watch", "eu", "b"), true},
		{named, pods("list", "eu", ""), false},
		{named, pods("get", "eu", "c"), false},
		{named, pods("create", "eu", ""), false},

		// Keys: the whole requested range must be inside of the named keys.
		{keeper, key("get", "/app/config/a"), true},
		{keeper, key("list", "/app/config/"), true},
		{keeper, key("watch", "/app/config/eu/"), true},
		{keeper, key("list", "/app/"), false},
		{keeper, key("get", "/app/config"), false},
		{keeper, key("get", "/app/configs/a"), false},
		{keeper, key("get", "/app/config2/a"), false},
		{keeper, key("get", "/one"), true},
		{keeper, key("get", "/one/more"), false},
		{keeper, key("list", "/"), false},
		{keeper, authorization.Attributes{Verb: "watch", Key: "/app/config/", Keys: []string{"/one"}}, true},
		{keeper, authorization.Attributes{Verb: "watch", Key: "/app/config/", Keys: []string{"/one", "/two"}}, false},
		{keeper, authorization.Attributes{Verb: "watch", Key: "/two", Keys: []string{"/one"}}, false},
		{keeper, key("get", "bare/a"), true},
		{keeper, key("get", "barely"), false},
		{admin, key("get", "bare"), true},
		{keeper, key("update", "/app/config/a"), false},
		{keeper, pods("get", "eu", "web"), false},
		{keeper, path("get", "/app/config/a"), false},

		// The built-in rules.
		{unbound, path("get", "/apis/apps/v1"), true},
		{unbound, path("get", "/openapi/v3"), true},
		{unbound, authorization.Attributes{Verb: "create", Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"}, true},
		{unbound, path("post", "/v1/tickets"), true},
		{unbound, path("get", "/metrics"), false},
		{unbound, path("post", "/api"), false},
		{unbound, pods("list", "eu", ""), false},
		{anonymous, path("get", "/version"), true},
		{anonymous, path("get", "/api"), false},
		{anonymous, pods("list", "public", ""), true},
		{anonymous, pods("list", "eu", ""), false},
		{subject{"eu", nil}, pods("list", "eu", ""), false},
		{subject{"", nil}, path("get", "/version"), false},
	} {
		if binding, got := p.Allows(tt.who.name, tt.who.groups, tt.asks); got != tt.want {
			t.Errorf("%s: %+v: %v by %q, want %v", tt.who.name, tt.asks, got, binding, tt.want)
		}
	}
}

func TestForbiddenHasTheMessageOfKubernetes(t *testing.T) {
	for _, tt := range []struct {
		asks authorization.Attributes
		want string
	}{
		{pods("list", "default", ""), `pods is forbidden: User "x" cannot list resource "pods" in API group "" in the namespace "default"`},
		{pods("get", "default", "web"), `pods "web" is forbidden: User "x" cannot get resource "pods" in API group "" in the namespace "default"`},
		{authorization.Attributes{Verb: "watch", Group: "apps", Resource: "deployments"},
			`deployments.apps is forbidden: User "x" cannot watch resource "deployments" in API group "apps" at the cluster scope`},
		{authorization.Attributes{Verb: "update", Group: "apps", Resource: "deployments", Subresource: "scale", Namespace: "a", Name: "b"},
			`deployments.apps "b" is forbidden: User "x" cannot update resource "deployments/scale" in API group "apps" in the namespace "a"`},
		{path("get", "/metrics"), `forbidden: User "x" cannot get path "/metrics"`},
		{key("list", "/app/"), `forbidden: User "x" cannot list key "/app/"`},
	} {
		if got := tt.asks.Forbidden("x").Error(); got != tt.want {
			t.Errorf("%s\nwant %s", got, tt.want)
		}
	}
}

func TestRules(t *testing.T) {
	p := policy(t)
	var got []string
	for _, rule := range p.Rules("dev", []string{"developers"}, "eu") {
		got = append(got, fmt.Sprint(rule.Verbs, rule.Resources, rule.NonResourceURLs))
	}
	if want := []string{"[create get list watch] [pods] []", "[update] [deployments/scale] []"}; !slices.Equal(got, want) {
		t.Errorf("rules of dev in eu: %q, want %q", got, want)
	}
	if rules := p.Rules("dev", []string{"developers"}, "us"); len(rules) != 0 {
		t.Errorf("rules of dev in us: %v, want none", rules)
	}
}

// TestFileOverridesBuiltInRules checks that a file can remove all built-in rights of anonymous users.
func TestFileOverridesBuiltInRules(t *testing.T) {
	p, err := authorization.Parse([]byte(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "system:discovery"}
rules: []
`))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := p.Allows("a", []string{"system:authenticated"}, path("get", "/api")); ok {
		t.Error("discovery is still allowed")
	}
	if _, ok := p.Allows("a", []string{"system:authenticated"}, path("get", "/version")); !ok {
		t.Error("a built-in role that the file does not name is missing")
	}
}

func TestParseRefuses(t *testing.T) {
	const head = "apiVersion: rbac.authorization.k8s.io/v1\n"
	role := func(rule string) string {
		return head + "kind: ClusterRole\nmetadata: {name: a}\nrules:\n- " + rule + "\n"
	}
	binding := func(rest string) string {
		return head + "kind: ClusterRoleBinding\nmetadata: {name: a}\n" + rest
	}
	const admin = "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\n"
	for name, tt := range map[string]struct{ content, says string }{
		"an empty file":                  {"", "is it complete"},
		"only comments":                  {"# roles\n---\n# bindings\n", "is it complete"},
		"an empty list":                  {"apiVersion: v1\nkind: List\nitems: []\n", "is it complete"},
		"no YAML":                        {"{", "document 1"},
		"a string":                       {"roles", "want an object"},
		"another kind":                   {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", "apiVersion"},
		"another kind of the group":      {head + "kind: Rolle\nmetadata: {name: a}\n", "want a Role"},
		"unknown field":                  {role("{verbs: [get], apiGroups: [''], resource: [pods]}"), "resource"},
		"key twice":                      {role("{verbs: [get], verbs: [list], keys: [/a]}"), "verbs"},
		"no name":                        {head + "kind: ClusterRole\nmetadata: {}\n", "metadata.name"},
		"no namespace":                   {head + "kind: Role\nmetadata: {name: a}\n", "metadata.namespace"},
		"a namespace too much":           {head + "kind: ClusterRole\nmetadata: {name: a, namespace: b}\n", "no namespace"},
		"no verbs":                       {role("{apiGroups: [''], resources: [pods]}"), "verbs"},
		"no groups":                      {role("{verbs: [get], resources: [pods]}"), "apiGroups"},
		"no object":                      {role("{verbs: [get]}"), "one of resources"},
		"two objects":                    {role("{verbs: [get], keys: [/a], nonResourceURLs: [/a]}"), "one of resources"},
		"names of keys":                  {role("{verbs: [get], keys: [/a], resourceNames: [a]}"), "go with resources"},
		"a relative URL":                 {role("{verbs: [get], nonResourceURLs: [metrics]}"), "want a path"},
		"a star inside":                  {role("{verbs: [get], nonResourceURLs: ['/a*b']}"), "end with *"},
		"an empty key":                   {role(`{verbs: [get], keys: [""]}`), "want a key"},
		"a key with a star":              {role("{verbs: [get], keys: ['/app/*']}"), "every key"},
		"keys in a namespace":            {head + "kind: Role\nmetadata: {name: a, namespace: b}\nrules:\n- {verbs: [get], keys: [/a]}\n", "in no namespace"},
		"aggregation":                    {head + "kind: ClusterRole\nmetadata: {name: a}\naggregationRule: {}\n", "aggregationRule"},
		"no role":                        {binding("subjects: [{kind: User, name: a}]\n"), "roleRef"},
		"a role that is not there":       {binding("roleRef: {kind: ClusterRole, name: b}\n"), `ClusterRole "b" is not in this file`},
		"a Role for everywhere":          {binding("roleRef: {kind: Role, name: b}\n"), "want ClusterRole"},
		"a role of another group":        {binding("roleRef: {apiGroup: a, kind: ClusterRole, name: cluster-admin}\n"), "roleRef.apiGroup"},
		"a subject of no kind":           {binding(admin + "subjects: [{name: a}]\n"), "subject 1"},
		"a subject without a name":       {binding(admin + "subjects: [{kind: User}]\n"), "name is missing"},
		"an account without a namespace": {binding(admin + "subjects: [{kind: ServiceAccount, name: a}]\n"), "namespace"},
		"the same twice":                 {role("{verbs: [get], keys: [/a]}") + "---\n" + role("{verbs: [get], keys: [/b]}"), "twice"},
		"rules in a binding":             {binding(admin + "rules: []\n"), "roleRef and subjects"},
	} {
		if _, err := authorization.Parse([]byte(tt.content)); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want an error with %q", name, err, tt.says)
		}
	}
}

func TestParseReadsLists(t *testing.T) {
	p, err := authorization.Parse([]byte(`
# as kubectl get -o yaml writes it
apiVersion: v1
kind: List
items:
- apiVersion: rbac.authorization.k8s.io/v1
  kind: ClusterRoleBinding
  metadata: {name: a, creationTimestamp: null, labels: {b: c}}
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
  subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: root}]
`))
	if err != nil {
		t.Fatal(err)
	}
	if binding, ok := p.Allows("root", nil, pods("get", "a", "b")); !ok || binding != `ClusterRoleBinding "a"` {
		t.Errorf("%v by %q", ok, binding)
	}
}

// FuzzParse checks that any file is a policy or an error, and that a policy allows an unknown user only what is built in.
func FuzzParse(f *testing.F) {
	content, err := os.ReadFile(filepath.Join("testdata", "policy.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(content)
	f.Add([]byte("kind: List\nitems: [{}]\n"))
	f.Add([]byte("a: &a [*a]\n---\n---\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		p, err := authorization.Parse(content)
		if err != nil {
			return
		}
		if _, ok := p.Allows("a stranger's name", nil, pods("get", "a", "b")); ok && !strings.Contains(string(content), "stranger") {
			t.Errorf("an unknown user may read pods")
		}
	})
}
