package storage

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"revtail/gateway/api/catalog"
	"revtail/gateway/api/kinds"
	"revtail/gateway/api/managedfields"
	"revtail/gateway/api/object"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// FuzzApply checks that applying any configuration, to an object with other managers or to no object, returns a document that can be stored
// or a client error.
func FuzzApply(f *testing.F) {
	var deployment *resource.Resource
	for _, res := range kinds.Builtin() {
		if res.Kind == "Deployment" {
			deployment = res
		}
	}
	t := catalog.Target{Ref: resource.Ref{Resource: deployment, Scope: resource.Scope{Namespace: "default", Name: "d"}}, Cache: &catalog.Cache{Fields: managedfields.New(deployment)}}
	made := func() object.Object {
		wr := &Request{Target: t, Options: Options{Manager: "maker", Validation: "Warn"}, Body: []byte(deploymentOf("1"))}
		d, err := wr.Decode()
		if err == nil {
			err = wr.prepareCreate(f.Context(), d)
		}
		if err != nil {
			f.Fatal(err)
		}
		d.SetResourceVersion("7")
		return d
	}
	live := made()
	for _, seed := range []string{
		deploymentOf("2"),
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d, labels: {app: null}}\nspec:\n  template: {spec: {containers: [{name: web, ports: [{containerPort: 1e2}]}]}}\n",
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","finalizers":["a","a"]},"spec":{"replicas":12345678901234567890}}`,
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":null,"spec":[],"status":{}}`,
		"&a [*a]",
	} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	f.Fuzz(func(tt *testing.T, body string, force bool) {
		for _, old := range []object.Object{live, object.Empty(t.Resource)} {
			wr := &Request{Target: t, Options: Options{Manager: "m", Force: force, Validation: "Warn", PatchType: types.ApplyYAMLPatchType}, Body: []byte(body)}
			before, err := json.Marshal(old.Object)
			if err != nil {
				tt.Fatal(err)
			}
			applied, err := wr.decodeApplied()
			var merged object.Object
			if err == nil {
				merged, err = wr.merge(applied, old)
			}
			if after, failed := json.Marshal(old.Object); failed != nil || string(after) != string(before) {
				tt.Errorf("applying has changed the stored object:\n%s\n%s", before, after)
			}
			if err != nil {
				if code := status.Of(err).Code; code >= http.StatusInternalServerError || errors.Is(err, status.ErrInternal) {
					tt.Errorf("%d %v", code, err)
				}
				continue
			}
			if _, err := encode(t.Resource, merged); err != nil {
				tt.Errorf("cannot be stored: %v", err)
			}
			if again, err := wr.merge(applied, merged); err != nil || !again.SameAs(merged) {
				tt.Errorf("applied again: %v\n%v\n%v", err, merged.Object, again.Object)
			}
		}
	})
}

// TestKubernetesFormOfAppliedYAML checks both forms of kubectl: YAML, and JSON with the media type of YAML.
func TestKubernetesFormOfAppliedYAML(t *testing.T) {
	for _, body := range []string{"kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}`, " {kind: ConfigMap, apiVersion: v1, metadata: {name: a}}"} {
		wr := &Request{Target: catalog.Target{Ref: resource.Ref{Resource: &resource.Resource{Version: "v1", Kind: "ConfigMap"}}}, Body: []byte(body)}
		if d, err := wr.decodeApplied(); err != nil || d.GetName() != "a" {
			t.Errorf("%q: %v", body, err)
		}
	}
}

// deploymentOf returns a Deployment d with a version of its image.
func deploymentOf(version string) string {
	return `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"d","labels":{"app":"web","tier":"front"}},"spec":{"replicas":3,
		"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[
		{"name":"web","image":"nginx:` + version + `","ports":[{"containerPort":80},{"containerPort":443}],"env":[{"name":"A","value":"1"}],
		"resources":{"limits":{"cpu":"1","memory":"1Gi"}},"volumeMounts":[{"name":"data","mountPath":"/data"}]},
		{"name":"side","image":"side:1"}],"volumes":[{"name":"data","emptyDir":{}}]}}}}`
}
