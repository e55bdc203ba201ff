package gatewaytest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"revtail/gateway/gatewaytest"
)

// recordedDefinition is a custom resource beside the built-in kinds.
const recordedDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},
"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

// convertedDefinition is a custom resource whose preferred version is made by a webhook that nothing serves.
const convertedDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gadgets.example.com"},
"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"gadgets","singular":"gadget","kind":"Gadget","listKind":"GadgetList"},
"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"service":{"namespace":"a","name":"b"}}}},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},
{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

const storedGadgets = "/apis/example.com/v1/namespaces/default/gadgets"

// recordedKinds are collections of a cluster, with the body of an object and the field that changes.
var recordedKinds = []struct{ collection, query, kind, body, field, patch string }{
	{"/api/v1/namespaces/default/configmaps", "resource=configmaps", "configmap", `{"metadata":{"name":"web"},"data":{"k":"0"}}`, "data.k", `{"data":{"k":"%d"}}`},
	{
		"/apis/apps/v1/namespaces/default/deployments", "resource=deployments&group=apps", "deployment", `{"metadata":{"name":"web"},"spec":{"replicas":0,"selector":{"matchLabels":{"a":"b"}},
		"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`, "spec.replicas", `{"spec":{"replicas":%d}}`,
	},
	{"/apis/example.com/v1/namespaces/default/widgets", "resource=widgets&group=example.com", "widget", `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"web"},"spec":{"size":0}}`, "spec.size", `{"spec":{"size":%d}}`},
}

// clusterJournal is a gateway with a journal over the etcd of a kube-apiserver.
type clusterJournal struct {
	kube  *gatewaytest.Gateway // the kube-apiserver itself
	etcd  *gatewaytest.Cluster
	dir   string
	known map[string]map[int64]any // the objects that the kube-apiserver has shown, by path and revision
}

// write creates an object of each kind by the field manager alice, and changes it by bob.
func (c *clusterJournal) write(t *testing.T) {
	t.Helper()
	c.known = make(map[string]map[int64]any)
	for _, definition := range []string{recordedDefinition, convertedDefinition} {
		c.kube.Create(t, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
	}
	for _, collection := range []string{recordedKinds[2].collection, storedGadgets} {
		gatewaytest.Until(t, "the custom resources", func() bool { return c.kube.Do(t, http.MethodGet, collection, "").Code == http.StatusOK })
	}
	c.kube.Create(t, storedGadgets, `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"web"},"spec":{"size":0}}`)
	c.kube.Patch(t, storedGadgets+"/web", `{"spec":{"size":1}}`)
	for _, kind := range recordedKinds {
		path := kind.collection + "/web"
		c.known[path] = make(map[int64]any)
		for i := range 6 {
			if i == 1 {
				<-time.After(1100 * time.Millisecond) // managers whose entries have one time are not told apart
			}
			method, target, body := http.MethodPatch, path+"?fieldManager=bob", fmt.Sprintf(kind.patch, i)
			if i == 0 {
				method, target, body = http.MethodPost, kind.collection+"?fieldManager=alice", kind.body
			}
			answer := c.kube.Do(t, method, target, body)
			if answer.Code >= http.StatusBadRequest {
				t.Fatalf("%s %s: %d %s", method, target, answer.Code, answer.Body)
			}
			c.known[path][answer.Object.Revision(t)] = decodeJSON(t, answer.Body)
		}
	}
}

func decodeJSON(t *testing.T, text string) (out any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

// check checks that a gateway has the past that the kube-apiserver has compacted.
func (c *clusterJournal) check(t *testing.T, gw *gatewaytest.Gateway) {
	t.Helper()
	for _, kind := range recordedKinds {
		path := kind.collection + "/web"
		var revisions []int64
		for revision, want := range c.known[path] {
			revisions = append(revisions, revision)
			a := gw.Do(t, http.MethodGet, fmt.Sprintf("%s?at=%d", path, revision), "")
			if a.Code != http.StatusOK || !reflect.DeepEqual(decodeJSON(t, a.Body), want) {
				t.Errorf("%s at %d: %d (-kube-apiserver +revtail)\n%s", path, revision, a.Code, cmp.Diff(want, decodeJSON(t, a.Body)))
			}
			list := gw.Do(t, http.MethodGet, fmt.Sprintf("%s?at=%d", kind.collection, revision), "")
			if list.Code != http.StatusOK || !slices.ContainsFunc(list.Object.Items, func(o gatewaytest.Object) bool { return o.Metadata.ResourceVersion == fmt.Sprint(revision) }) {
				t.Errorf("%s at %d: %d %.500s", kind.collection, revision, list.Code, list.Body)
			}
		}
		slices.Sort(revisions)
		watch := gw.Watch(t, fmt.Sprintf("%s?watch=1&resourceVersion=%d&fieldSelector=metadata.name=web", kind.collection, revisions[0]))
		for _, revision := range revisions[1:] {
			if event := watch.Next(t); event.Type != "MODIFIED" || event.Object.Metadata.ResourceVersion != fmt.Sprint(revision) {
				t.Errorf("%s: %s, want the change at %d", path, event.Line, revision)
			}
		}
		watch.Close()
		a := gw.Do(t, http.MethodGet, "/v1/history?namespace=default&name=web&"+kind.query, "")
		for i, revision := range revisions {
			var change struct {
				Revision      int64
				Type, Manager string
				Fields        []string
				Object        any
			}
			lines := strings.Split(a.Body, "\n")
			if len(lines) != len(revisions)+2 || json.Unmarshal([]byte(lines[i]), &change) != nil {
				t.Fatalf("%s: %d %s", kind.query, a.Code, a.Body)
			}
			if change.Revision != revision || i > 0 && (change.Manager != "bob" || !slices.Contains(change.Fields, kind.field)) || i == 0 && change.Manager != "alice" ||
				!reflect.DeepEqual(change.Object, c.known[path][revision]) {
				t.Errorf("%s: change %d: %s", kind.query, i, lines[i])
			}
		}
		c.checkCommands(t, gw, kind.kind, kind.field, revisions)
	}
	a := gw.Do(t, http.MethodGet, "/v1/history?group=example.com&resource=gadgets&namespace=default&name=web", "")
	if !strings.Contains(a.Body, `"fields":["spec.size"],"object":{"apiVersion":"example.com/v1"`) || strings.Contains(a.Body, "unreadable") {
		t.Errorf("what a webhook converts: %d %s", a.Code, a.Body)
	}
}

// checkCommands checks the commands that read the past of an object.
func (c *clusterJournal) checkCommands(t *testing.T, gw *gatewaytest.Gateway, kind, field string, revisions []int64) {
	t.Helper()
	second := fmt.Sprint(revisions[1])
	for command, wants := range map[string][]string{
		"history " + kind + "/web":                                      {"ADDED", "alice", "bob", field, second},
		"blame " + kind + "/web":                                        {"alice", "bob", fmt.Sprint(revisions[len(revisions)-1])},
		"log " + kind + " -A --since " + second:                         {"/web", "bob", field},
		"get " + kind + " web -o json --at " + second:                   {`"resourceVersion": "` + second + `"`},
		"watch " + kind + " --until 1s --speed 1000x --since " + second: {"changes replayed: "},
	} {
		out, err := exec.CommandContext(t.Context(), gatewaytest.Binary(t), append(strings.Fields(command), "--server", gw.URL)...).CombinedOutput() //nolint:gosec // the arguments are those of this test
		for _, want := range wants {
			if err != nil || !strings.Contains(string(out), want) {
				t.Errorf("%s: %v, want %s\n%s", command, err, want, out)
			}
		}
	}
}

// TestClusterHistory checks the journal of a cluster's etcd: the past of built-in kinds and of a custom resource, which the kube-apiserver has compacted, also
// by a user who may only read the resources. The gateway writes nothing there.
func TestClusterHistory(t *testing.T) {
	t.Parallel()
	needCluster(t)
	c := &clusterJournal{etcd: gatewaytest.StartEtcd(t, 1), dir: filepath.Join(t.TempDir(), "journal")}
	server := gatewaytest.StartKubeAPIServer(t, c.etcd.Endpoints(), "--disable-admission-plugins", unusedPlugins+",ServiceAccount", "--etcd-compaction-interval", "1s")
	c.kube = (&gatewaytest.Gateway{URL: server.URL, TLS: server.TLS}).As(server.Token)
	etcd := gatewaytest.DialEtcd(t, c.etcd.Endpoints())
	writes := etcd.Follow(t, etcd.Revision(t))
	gw := gatewaytest.Start(t, "--cluster", "--etcd-endpoints", c.etcd.Endpoints(), "--history-dir", c.dir)
	awaitJournal(t, gw, 1, "/registry/")
	c.write(t)
	last := etcd.Revision(t)
	awaitJournal(t, gw, last, "/registry/")
	gatewaytest.Until(t, "the kube-apiserver has compacted the revisions", func() bool {
		return c.kube.Do(t, http.MethodGet, fmt.Sprintf("/api/v1/configmaps?resourceVersionMatch=Exact&resourceVersion=%d", last), "").Code == http.StatusGone
	})
	c.check(t, gw)
	changes, _ := writes.Now(t)
	for _, change := range changes {
		if !strings.HasPrefix(change.Key, "/registry/") && change.Key != "compact_rev_key" {
			t.Errorf("the gateway has written: %s", change)
		}
	}
	server.Stop(t)
	before := etcd.Revision(t)
	awaitJournal(t, gw, before, "/registry/") // what the kube-apiserver has compacted last would be a gap
	gw.Stop(t)
	for _, command := range []string{"user add root:secret", "user grant-role root root", "user add reader:secret", "role add reader",
		"role grant-permission reader --prefix read /registry/", "role grant-permission reader --prefix read revtail/", "user grant-role reader reader", "auth enable"} {
		etcdctl(t, c.etcd.Endpoints(), strings.Fields(command)...)
	}
	password := filepath.Join(t.TempDir(), "password")
	writeFile(t, password, "secret")
	reader := gatewaytest.Start(t, "--cluster", "--etcd-endpoints", c.etcd.Endpoints(), "--history-dir", c.dir, "--etcd-user", "reader", "--etcd-password-file", password)
	awaitJournal(t, reader, last, "/registry/")
	c.check(t, reader)
	if now := etcdctl(t, c.etcd.Endpoints(), "--user=reader:secret", "get", "/registry/namespaces/default", "--write-out=json"); !strings.Contains(now, fmt.Sprintf(`"revision":%d,`, before)) {
		t.Errorf("revision %d before, now %.200s", before, now)
	}
	if log := reader.Log(t); strings.Contains(log, "permission denied") || strings.Contains(log, "the journal is not written") {
		t.Errorf("the gateway has tried what its user may not do:\n%s", log)
	}
}

// TestBehindHistory checks that the kube-apiserver decides who may read the history, and that no request for the past is answered with the present.
func TestBehindHistory(t *testing.T) {
	t.Parallel()
	b := startBehind(t, "--history-dir", filepath.Join(t.TempDir(), "journal"))
	admin := b.direct(b.kube.Token)
	const one = "/api/v1/namespaces/a/configmaps/one"
	before := admin.Get(t, one).Metadata.ResourceVersion
	changed := admin.Patch(t, one, `{"data":{"k":"changed"}}`).Metadata.ResourceVersion
	for _, request := range []struct {
		token, path string
		code        int
		says        string
	}{
		{"bob-token", "/v1/history?resource=configmaps&namespace=a&name=one", http.StatusOK, `"fields":["data.k"]`},
		{"alice-token", "/v1/history?resource=configmaps&namespace=a", http.StatusOK, `"revision":` + changed},
		{"alice-token", "/v1/history?resource=configmaps", http.StatusForbidden, "alice"},
		{"alice-token", "/v1/history?resource=secrets&namespace=a&name=one", http.StatusForbidden, "alice"},
		{"alice-token", "/v1/history?resource=configmaps&namespace=b", http.StatusForbidden, "alice"},
		{"bob-token", "/v1/history?resource=configmaps&namespace=b&name=one", http.StatusForbidden, "bob"},
		{"invalid", "/v1/history?resource=configmaps", http.StatusUnauthorized, ""},
		{"", "/v1/history?resource=configmaps", http.StatusUnauthorized, ""},
		{"bob-token", one + "?at=" + before, http.StatusOK, `"k":"v"`},
		{"bob-token", "/api/v1/namespaces/b/configmaps/one?at=" + before, http.StatusForbidden, "bob"},
		{"", one + "?at=" + before, http.StatusNotImplemented, "does not know at="},
		{"administrator", "/api/v1/namespaces/a/pods/none/log?at=" + before, http.StatusNotImplemented, "does not know at="},
	} {
		if a := b.gateway.As(request.token).Do(t, http.MethodGet, request.path, ""); a.Code != request.code || !strings.Contains(a.Body, request.says) {
			t.Errorf("%s by %q: %d %s, want %d %s", request.path, request.token, a.Code, a.Body, request.code, request.says)
		}
	}
	if a := b.gateway.As("bob-token").Do(t, http.MethodDelete, one+"?at="+before, ""); a.Code != http.StatusBadRequest || !strings.Contains(a.Body, "at= is for gets") {
		t.Errorf("a deletion in the past: %d %s", a.Code, a.Body)
	}
	b.gateway.As("bob-token").Get(t, one)
}
