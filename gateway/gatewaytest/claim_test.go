package gatewaytest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/gateway/gatewaytest"
)

const marker = "revtail/claims/registry"

// others is an etcd with unclaimed data, and the gateway's URL for it.
func others(t *testing.T) (*gatewaytest.Gateway, *gatewaytest.Keys) {
	t.Helper()
	keeper := gatewaytest.Start(t, "--etcd-prefix", "/keeper")
	etcd := gatewaytest.DialEtcd(t, keeper.EtcdEndpoint)
	etcd.Put(t, keyPrefix+"a", `{"metadata":{"name":"a","uid":"1","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"2"}]}}`,
		keyPrefix+"b", gatewaytest.ConfigMap("b", "1"),
		"/registry/namespaces/dying", `{"metadata":{"name":"dying","uid":"3","deletionTimestamp":"2026-11-22T00:00:00Z"}}`,
		"/registry/configmaps/dying/c", gatewaytest.ConfigMap("c", "1"))
	return keeper, etcd
}

// TestForeignDataIsReadOnly checks that unclaimed data can be read, and that neither clients nor the gateway change it.
func TestForeignDataIsReadOnly(t *testing.T) {
	t.Parallel()
	keeper, etcd := others(t)
	gw := gatewaytest.Start(t, "--etcd-endpoints", keeper.EtcdEndpoint, "--history", "1s")
	before := etcd.Revision(t)
	if got := gw.ReadyLine; !strings.HasSuffix(got, " data=foreign mode=read-only") {
		t.Errorf("the ready line is %q", got)
	}
	if ready := gw.Do(t, "GET", "/readyz?verbose", ""); ready.Code != http.StatusOK || !strings.Contains(ready.Body, "[!]claim the data is not revtail's own") {
		t.Errorf("/readyz?verbose: %d %s", ready.Code, ready.Body)
	}
	if got := gatewaytest.Metric(t, gw.URL+"/metrics", "revtail_foreign_data"); got != "1" {
		t.Errorf("revtail_foreign_data is %s", got)
	}
	if got := len(gw.Get(t, configMaps).Items); got != 2 {
		t.Errorf("%d objects are listed, want 2", got)
	}
	for _, write := range [][3]string{
		{"POST", configMaps, gatewaytest.ConfigMap("new", "")},
		{"PUT", configMaps + "/a", gatewaytest.ConfigMap("a", "")},
		{"PATCH", configMaps + "/a", `{"data":{"x":"y"}}`},
		{"DELETE", configMaps + "/a", ""},
		{"DELETE", configMaps, ""},
		{"DELETE", "/api/v1/namespaces/dying", ""},
		{"PUT", "/v1/keys/app/a", "1"},
		{"PUT", "/v1/keys/registry/configmaps/default/a", "1"},
		{"DELETE", "/v1/keys/app/?prefix=true", ""},
		{"POST", "/v1/txn", `{"then":[{"put":{"key":"/app/a","value":"1"}}]}`},
	} {
		answer := gw.Do(t, write[0], write[1], write[2])
		if answer.Code != http.StatusMethodNotAllowed || !strings.Contains(answer.Body, "--writable") || !strings.Contains(answer.Body, "--adopt") {
			t.Errorf("%s %s: %d %s, want 405 that names the flags", write[0], write[1], answer.Code, answer.Body)
		}
		if allow := answer.Header.Get("Allow"); allow != "GET, HEAD" {
			t.Errorf("%s %s: Allow: %q", write[0], write[1], allow)
		}
	}
	for review, denied := range map[string]bool{
		`"resourceAttributes":{"verb":"update","resource":"configmaps"}`:        true,
		`"resourceAttributes":{"verb":"get","resource":"configmaps"}`:           false,
		`"nonResourceAttributes":{"verb":"update","path":"/v1/keys/app/a"}`:     true,
		`"nonResourceAttributes":{"verb":"get","path":"/v1/keys/app/a"}`:        false,
		`"resourceAttributes":{"verb":"create","group":"authorization.k8s.io"}`: false,
	} {
		answer := gw.Do(t, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{`+review+`}}`)
		if got := strings.Contains(answer.Body, `"denied":true`) && strings.Contains(answer.Body, "--writable"); got != denied {
			t.Errorf("%s: %s, want denied: %v", review, answer.Body, denied)
		}
	}
	if answer := gw.Do(t, "POST", "/v1/txn", `{"then":[{"get":{"key":"/app/a"}}]}`); answer.Code != http.StatusOK {
		t.Errorf("a transaction that reads: %d %s", answer.Code, answer.Body)
	}
	settle(t, gw)
	if after := etcd.Revision(t); after != before {
		t.Errorf("etcd went from revision %d to %d", before, after)
	}
}

// valueOf returns the value of a key; empty: none.
func valueOf(t *testing.T, etcd *gatewaytest.Keys, key string) string {
	t.Helper()
	value, _ := etcd.Get(t, key)
	return value
}

// settle waits for a watch of some seconds, so that a gateway has the time for its own writes.
func settle(t *testing.T, gw *gatewaytest.Gateway) {
	t.Helper()
	ask(t, gw, "GET", configMaps+"?watch=1&timeoutSeconds=6", "")
}

// TestForeignDataIsWritable checks that --writable allows the writes of clients, and no writes of the gateway itself.
func TestForeignDataIsWritable(t *testing.T) {
	t.Parallel()
	keeper, etcd := others(t)
	gw := gatewaytest.Start(t, "--etcd-endpoints", keeper.EtcdEndpoint, "--writable", "--history", "1s")
	if got := gw.ReadyLine; !strings.HasSuffix(got, " data=foreign mode=writable") {
		t.Errorf("the ready line is %q", got)
	}
	gw.Create(t, configMaps, gatewaytest.ConfigMap("new", "1"))
	gw.Patch(t, configMaps+"/b", `{"data":{"value":"2"}}`)
	gw.Create(t, "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"empty"}}`)
	gw.Create(t, "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"default"}}`)
	gw.Delete(t, "/api/v1/namespaces/empty")
	if answer := gw.Do(t, "DELETE", "/api/v1/namespaces/default", ""); answer.Code != http.StatusMethodNotAllowed || !strings.Contains(answer.Body, "--adopt") {
		t.Errorf("a namespace that holds objects: %d %s, want 405", answer.Code, answer.Body)
	}
	gw.Delete(t, configMaps+"/new?propagationPolicy=Foreground")
	before := etcd.Revision(t)
	settle(t, gw)
	if after := etcd.Revision(t); after != before {
		t.Errorf("etcd went from revision %d to %d without a write of a client", before, after)
	}
	if valueOf(t, etcd, keyPrefix+"a") == "" || valueOf(t, etcd, "/registry/configmaps/dying/c") == "" || valueOf(t, etcd, marker) != "" {
		t.Error("an object is gone, or the prefix is claimed")
	}
}

// TestAdopt checks that --adopt makes the data revtail's own, also for gateways that start later.
func TestAdopt(t *testing.T) {
	t.Parallel()
	keeper, etcd := others(t)
	gw := gatewaytest.Start(t, "--etcd-endpoints", keeper.EtcdEndpoint, "--adopt")
	if !strings.Contains(gw.Log(t), "adopting the data") {
		t.Error("the log does not say what adopting means")
	}
	var m struct {
		Format  int
		Prefix  string
		Because string
		Made    string
	}
	if err := json.Unmarshal([]byte(valueOf(t, etcd, marker)), &m); err != nil || m.Format != 1 || m.Prefix != "/registry" || m.Because != "--adopt" || m.Made == "" {
		t.Errorf("the marker is %q: %v", valueOf(t, etcd, marker), err)
	}
	gatewaytest.Until(t, "what has no owner, and what is in the namespace, to go", func() bool {
		return valueOf(t, etcd, keyPrefix+"a") == "" && valueOf(t, etcd, "/registry/configmaps/dying/c") == ""
	})
	later := gatewaytest.Start(t, "--etcd-endpoints", keeper.EtcdEndpoint)
	later.Create(t, configMaps, gatewaytest.ConfigMap("new", "1"))
}

// TestEarlierReleasesAreRecognised checks that data of a release without markers needs no action of the operator.
func TestEarlierReleasesAreRecognised(t *testing.T) {
	t.Parallel()
	first := gatewaytest.Start(t)
	first.Create(t, configMaps, gatewaytest.ConfigMap("a", "1"))
	etcd := gatewaytest.DialEtcd(t, first.EtcdEndpoint)
	if valueOf(t, etcd, marker) == "" {
		t.Fatal("the first write has written no marker")
	}
	etcd.Delete(t, marker)
	etcd.Put(t, keyPrefix+"b", "{}") // written by etcdctl
	first.Stop(t)
	first.Restart(t)
	if got := first.ReadyLine; strings.Contains(got, "data=") {
		t.Errorf("the ready line is %q", got)
	}
	if !strings.Contains(first.Log(t), "the data is revtail's own from now on") {
		t.Error("the log does not say that the data was recognised")
	}
	if valueOf(t, etcd, marker) == "" {
		t.Error("there is no marker")
	}
	first.Create(t, configMaps, gatewaytest.ConfigMap("c", "1"))
}

// TestFirstWriteClaimsThePrefix checks that a start writes nothing, and that the claim has no revision of its own.
func TestFirstWriteClaimsThePrefix(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	etcd := gatewaytest.DialEtcd(t, gw.EtcdEndpoint)
	if got := etcd.Revision(t); got != 1 {
		t.Errorf("after the start etcd is at revision %d, want 1", got)
	}
	if got := gw.Create(t, configMaps, gatewaytest.ConfigMap("a", "1")).Revision(t); got != 2 {
		t.Errorf("the first object is at revision %d, want 2", got)
	}
	if valueOf(t, etcd, marker) == "" {
		t.Error("there is no marker")
	}
}

// TestCollectorStops checks that many dependents of owners that disappeared without a DELETE request are not deleted, before or after a
// start, and that doctor, health, metric and log report it. Dependents of objects that a DELETE request deleted are deleted in any number.
func TestCollectorStops(t *testing.T) {
	t.Parallel()
	audit := filepath.Join(t.TempDir(), "audit.log")
	gw := gatewaytest.Start(t, "--audit-log-path", audit)
	etcd := gatewaytest.DialEtcd(t, gw.EtcdEndpoint)
	dependents := func(owner string, n int) {
		o := gw.Create(t, configMaps, gatewaytest.ConfigMap(owner, ""))
		for i := range n {
			gw.Create(t, "/api/v1/namespaces/default/secrets", fmt.Sprintf(
				`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"%s-%d","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":%q,"uid":%q}]}}`,
				owner, i, owner, o.Metadata.UID))
		}
	}
	left := func(owner string) (n int) {
		for _, key := range etcd.All(t) {
			if strings.HasPrefix(key, "/registry/secrets/default/"+owner+"-") {
				n++
			}
		}
		return n
	}
	dependents("lost", 30)
	dependents("asked", 120)
	etcd.Delete(t, keyPrefix+"lost")
	held := func() bool {
		return gatewaytest.Metric(t, gw.URL+"/metrics", "revtail_garbage_collector_held_objects") == "30"
	}
	gatewaytest.Until(t, "the collector to hold 30 objects", held)
	gw.Delete(t, configMaps+"/asked")
	gatewaytest.Until(t, "what was asked for to be done", func() bool { return left("asked") == 0 })
	if got := left("lost"); got != 30 {
		t.Errorf("%d of 30 are left whose owner no request deleted", got)
	}
	if ready := gw.Do(t, "GET", "/readyz?verbose", "").Body; !strings.Contains(ready, "[!]garbage-collector 30 secrets") {
		t.Errorf("/readyz?verbose: %s", ready)
	}
	if !strings.Contains(gw.Log(t), "the garbage collector has stopped") {
		t.Error("the log does not say that the collector has stopped")
	}
	checkReasons(t, audit, 120)

	gw.Stop(t)
	gw.Restart(t)
	gatewaytest.Until(t, "the collector to hold 30 objects", held)
	if got := left("lost"); got != 30 {
		t.Errorf("after a restart %d of 30 are left", got)
	}
}

// checkReasons checks that the audit log has every object that the collector deleted, with the reason.
func checkReasons(t *testing.T, audit string, want int) {
	t.Helper()
	text, err := os.ReadFile(audit)
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for line := range strings.Lines(string(text)) {
		var r struct {
			Verb        string
			User        struct{ Username string }
			ObjectRef   struct{ Resource, Name string }
			Annotations map[string]string
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.User.Username == "system:revtail:garbage-collector" && strings.Contains(r.Annotations["revtail/because"], "configmaps default/asked") {
			seen[r.Verb+" "+r.ObjectRef.Resource] = true
			want--
		}
	}
	if diff := cmp.Diff(map[string]bool{"delete secrets": true}, seen); want != 0 || diff != "" {
		t.Errorf("%d deletions are missing in the audit log, of %v", want, diff)
	}
}
