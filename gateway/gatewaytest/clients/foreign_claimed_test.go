package clients

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/gateway/gatewaytest"
)

// isRevtails reports whether a write is under a prefix of a gateway with the prefix /revtail.
func isRevtails(change gatewaytest.Change) bool {
	return strings.HasPrefix(change.Key, "/revtail/") || strings.HasPrefix(change.Key, "revtail/")
}

// checkClaimed checks that a gateway with its own prefix in a cluster's etcd has all its functions, and writes only under its prefix.
func checkClaimed(t *testing.T, etcd *gatewaytest.Keys, endpoints string) {
	t.Helper()
	judge := newJudge(t, etcd)
	gw := gatewaytest.Start(t, "--etcd-endpoints", endpoints, "--etcd-prefix", "/revtail", "--adopt")
	if strings.Contains(gw.ReadyLine, "data=") {
		t.Errorf("the ready line is %q, want one of data that is revtail's own", gw.ReadyLine)
	}
	things := define(t, newClient(t, gw), "things", "Thing", anything)
	gw.Create(t, "/api/v1/namespaces", `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"team"}}`)
	for _, namespace := range []string{"default", "team"} {
		writeAndCollect(t, gw, namespace, things)
	}
	gw.Delete(t, "/api/v1/namespaces/team")
	awaitGone(t, gw, "/api/v1/namespaces/team")
	gw.Stop(t)
	judge.check(t, func(change gatewaytest.Change) bool { return isRevtails(change) || isKubernetesOwn(change) })
	for _, marker := range []string{"revtail/claims/revtail", "/revtail/apiextensions.k8s.io/customresourcedefinitions/things." + group} {
		if _, modified := etcd.Get(t, marker); modified <= judge.before.Revision {
			t.Errorf("%s was not written", marker)
		}
	}
}

// writeAndCollect creates, changes and deletes objects, and waits until the dependents of the deleted ones are gone.
func writeAndCollect(t *testing.T, gw *gatewaytest.Gateway, namespace string, things schema.GroupVersionResource) {
	t.Helper()
	all := "/api/v1/namespaces/" + namespace + "/configmaps"
	custom := fmt.Sprintf("/apis/%s/%s/namespaces/%s/%s", things.Group, things.Version, namespace, things.Resource)
	owner := gw.Create(t, all, gatewaytest.ConfigMap("owner", "1"))
	gw.Create(t, all, owned("v1", "ConfigMap", "dependent", owner))
	gw.Create(t, custom, owned(things.GroupVersion().String(), "Thing", "dependent", owner))
	gw.Create(t, all, gatewaytest.ConfigMap("stays", "1"))
	gw.Patch(t, all+"/stays", `{"data":{"value":"2"}}`)
	gw.Delete(t, all+"/owner")
	awaitGone(t, gw, all+"/dependent")
	awaitGone(t, gw, custom+"/dependent")
	gw.Get(t, all+"/stays")
}

// owned returns the JSON of an object with an owner.
func owned(version, kind, name string, owner gatewaytest.Object) string {
	return fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":{"name":%q,"ownerReferences":[{"apiVersion":%q,"kind":%q,"name":%q,"uid":%q}]}}`,
		kind, version, name, owner.APIVersion, owner.Kind, owner.Metadata.Name, owner.Metadata.UID)
}

func awaitGone(t *testing.T, gw *gatewaytest.Gateway, path string) {
	t.Helper()
	gatewaytest.Until(t, path+" is gone", func() bool { return gw.Do(t, http.MethodGet, path, "").Code == http.StatusNotFound })
}
