package api

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/api/catalog"
	"revtail/gateway/api/storage"
	"revtail/gateway/resource"
)

// bootstrapObject is an object that a kube-apiserver creates in every cluster.
type bootstrapObject struct {
	group, plural, namespace, body string
}

// bootstrapObjects begin with the Service of the API server: it brings the namespaces default and kube-system at its revision, so a client
// that waits for these finds it. The roles of a cluster are missing, because no RBAC objects are read.
var bootstrapObjects = []bootstrapObject{
	{"", "services", metav1.NamespaceDefault, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"kubernetes","labels":{"component":"apiserver","provider":"kubernetes"}},
		"spec":{"type":"ClusterIP","clusterIP":"` + serviceIP + `","ports":[{"name":"https","port":443,"protocol":"TCP","targetPort":6443}]}}`},
	{"", "namespaces", "", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-public"}}`},
	{"", "namespaces", "", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"kube-node-lease"}}`},
	{"scheduling.k8s.io", "priorityclasses", "", `{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"system-cluster-critical"},
		"value":2000000000,"description":"Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."}`},
	{"scheduling.k8s.io", "priorityclasses", "", `{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":"system-node-critical"},
		"value":2000001000,"description":"Used for system critical pods that must not be moved from their current node."}`},
}

// serviceIP is the cluster IP of the Service of bootstrapObjects, if the gateway allocates none.
const serviceIP = "10.0.0.1"

// Bootstrap creates the objects that a kube-apiserver creates in every cluster, when the caches are filled. Data that is not revtail's own
// gets none, and objects that exist stay as they are.
func Bootstrap(ctx context.Context, store *storage.Store) error {
	if err := store.Catalog.WaitReady(ctx); err != nil || store.Claim.State().IsForeign() {
		return err
	}
	now := store.Catalog.Current()
	for _, o := range bootstrapObjects {
		res := now.Registry.Lookup(o.group, "v1", o.plural)
		target := catalog.Target{Ref: resource.Ref{Resource: res, Scope: resource.Scope{Namespace: o.namespace}}, Cache: now.Caches[res]}
		body := o.body
		if store.Addresses != nil {
			body = strings.ReplaceAll(body, serviceIP, store.Addresses.First().String())
		}
		_, err := store.Create(ctx, &storage.Request{Target: target, Options: storage.Options{Manager: "revtail"}, ContentType: "application/json", Body: []byte(body)})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create the %s of every cluster: %w", o.plural, err)
		}
	}
	return nil
}
