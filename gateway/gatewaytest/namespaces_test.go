package gatewaytest_test

import (
	"fmt"
	"net/http"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestRequireNamespaces checks that a gateway with --require-namespaces answers as a kube-apiserver about what is created in a namespace that does
// not exist, has the namespaces of a cluster, and creates no other ones.
func TestRequireNamespaces(t *testing.T) {
	t.Parallel()
	c := startComparison(t, "--require-namespaces")
	o := &objectComparison{comparison: c, t: t}
	in := func(namespace, plural string) string { return "/api/v1/namespaces/" + namespace + "/" + plural }
	object := func(kind, name string) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name}}
	}
	settings, invalid := object("ConfigMap", "settings"), object("ConfigMap", "Not_A_Name")
	o.try("create", write(http.MethodPost, in("nowhere", "configmaps")+asTest, settings))
	o.try("dry create", write(http.MethodPost, in("nowhere", "configmaps")+asTest+dryRun, settings))
	o.try("create of an invalid one", write(http.MethodPost, in("nowhere", "configmaps")+asTest, invalid))
	o.try("create of another kind", write(http.MethodPost, in("nowhere", "secrets")+asTest, object("Secret", "settings")))
	elsewhere := object("ConfigMap", "settings")
	elsewhere["metadata"].(map[string]any)["namespace"] = "elsewhere"
	o.try("create for another namespace", write(http.MethodPost, in("nowhere", "configmaps")+asTest, elsewhere))
	o.try("apply", applyPatch(in("nowhere", "configmaps/settings")+asTest, settings))
	o.try("put", write(http.MethodPut, in("nowhere", "configmaps/settings")+asTest, settings))
	o.try("put that may create", write(http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/nowhere/leases/one"+asTest,
		map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": "one"}}))
	o.try("patch", mergePatch(in("nowhere", "configmaps/settings")+asTest, map[string]any{}))
	o.try("delete", apiRequest{method: http.MethodDelete, path: in("nowhere", "configmaps/settings")})
	o.try("read", read(in("nowhere", "configmaps/settings")))
	o.try("binding", write(http.MethodPost, in("nowhere", "pods/one/binding"), map[string]any{"apiVersion": "v1", "kind": "Binding", "metadata": map[string]any{"name": "one"}, "target": map[string]any{"name": "n"}}))
	o.try("eviction", write(http.MethodPost, in("nowhere", "pods/one/eviction"), map[string]any{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": map[string]any{"name": "one"}}))
	for _, apiVersion := range []string{"policy/v1beta1", ""} {
		o.try("eviction of "+apiVersion, write(http.MethodPost, in("nowhere", "pods/one/eviction"), map[string]any{"apiVersion": apiVersion, "kind": "Eviction", "metadata": map[string]any{"name": "one"}}))
	}
	for _, server := range []apiServer{c.kube, c.revtail} { // which says nothing about the namespace
		answer := server.do(t, write(http.MethodPost, "/apis/authorization.k8s.io/v1/namespaces/nowhere/localsubjectaccessreviews", map[string]any{
			"apiVersion": "authorization.k8s.io/v1", "kind": "LocalSubjectAccessReview", "metadata": map[string]any{"namespace": "nowhere"},
			"spec": map[string]any{"user": "u", "resourceAttributes": map[string]any{"namespace": "nowhere", "verb": "get", "resource": "pods"}}}))
		if answer.Code != http.StatusCreated {
			t.Errorf("a review at %s: %d, want an answer", server.url, answer.Code)
		}
	}
	for _, namespace := range []string{"default", "kube-system", "kube-public", "kube-node-lease"} {
		gatewaytest.Until(t, namespace, func() bool { return c.kube.do(t, read("/api/v1/namespaces/"+namespace)).Code == http.StatusOK })
		o.try("create in "+namespace, write(http.MethodPost, in(namespace, "configmaps")+asTest, settings))
		if answer := c.revtail.do(t, read("/api/v1/namespaces/"+namespace)); answer.Code != http.StatusOK {
			t.Errorf("%s: %d, want it to exist", namespace, answer.Code)
		}
		if namespace != "kube-node-lease" {
			o.try("delete of "+namespace, apiRequest{method: http.MethodDelete, path: "/api/v1/namespaces/" + namespace})
		}
	}
	o.try("the namespace after all this", read("/api/v1/namespaces/nowhere"))
	for _, server := range []apiServer{c.kube, c.revtail} {
		server.do(t, write(http.MethodPost, "/api/v1/namespaces"+asTest, object("Namespace", "nowhere")))
	}
	o.try("create in it", write(http.MethodPost, in("nowhere", "configmaps")+asTest, settings))
}

// TestRequiredNamespaceOfAnotherReplica checks that an object can be created in a namespace as soon as another replica has created that.
func TestRequiredNamespaceOfAnotherReplica(t *testing.T) {
	t.Parallel()
	first := gatewaytest.Start(t, "--require-namespaces")
	second := gatewaytest.Start(t, "--require-namespaces", "--etcd-endpoints", first.EtcdEndpoint)
	for i := range 100 {
		name := fmt.Sprintf("n%d", i)
		first.Create(t, "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+name+`"}}`)
		second.Create(t, "/api/v1/namespaces/"+name+"/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"}}`)
	}
}

// TestSearchOfNamespaces checks that a namespace that another program uses gets its Namespace. The search for such namespaces keeps no past state of a
// resource; a client's list with a limit keeps one.
func TestSearchOfNamespaces(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	gw.Do(t, "POST", configMaps, gatewaytest.ConfigMap("first", "1")) // so the data is revtail's own
	etcd := gatewaytest.DialEtcd(t, gw.EtcdEndpoint)
	for _, namespace := range []string{"one", "two"} {
		etcd.Put(t, "/registry/configmaps/"+namespace+"/a", gatewaytest.ConfigMap("a", "1"))
	}
	for _, namespace := range []string{"one", "two"} {
		gatewaytest.Until(t, "the Namespace "+namespace, func() bool { return gw.Do(t, "GET", "/api/v1/namespaces/"+namespace, "").Code == http.StatusOK })
	}
	const kept = `revtail_cache_snapshots{resource="configmaps"}`
	if states := gatewaytest.Metric(t, gw.URL+"/metrics", kept); states != "0" {
		t.Errorf("%q past states are kept after the search, want 0", states)
	}
	gw.Do(t, "GET", "/api/v1/configmaps?limit=1", "")
	if states := gatewaytest.Metric(t, gw.URL+"/metrics", kept); states != "1" {
		t.Errorf("%q past states are kept after a page, want 1", states)
	}
}
