package gateway

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"revtail/encoding/jsontext"
	"revtail/gateway/resource"
)

// accounted are kinds with every sort of list and map, and objects with something in each.
var accounted = map[string]struct{ collection, object string }{
	"ConfigMap": {configMaps, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","labels":{"a":"b","c":"d"},"annotations":{"x/y":"1"},
		"finalizers":["a/b","c/d"],"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"},{"apiVersion":"v1","kind":"Pod","name":"q","uid":"v"}]},
		"data":{"k":"1","l":"2"},"binaryData":{},"immutable":false}`},
	"Deployment": {deployments, `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"d","generateName":"x"},"spec":{"replicas":3,"selector":{"matchLabels":{"a":"b"}},
		"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1,"maxUnavailable":"25%"}},
		"template":{"metadata":{"labels":{"a":"b"}},"spec":{"nodeSelector":{"n":"m"},"tolerations":[{"key":"k"}],
		"containers":[{"name":"c","image":"i","args":["x","y"],"ports":[{"containerPort":80},{"containerPort":80,"protocol":"UDP"}],"env":[{"name":"A","value":"1"},
		{"name":"B","valueFrom":{"fieldRef":{"fieldPath":"p"}}}],"resources":{"limits":{"cpu":"1","memory":"1Gi"}}},{"name":"e"}],
		"volumes":[{"name":"v","emptyDir":{}},{"name":"w","configMap":{"name":"q","items":[{"key":"k","path":"p"}]}}]}}},
		"status":{"replicas":1,"conditions":[{"type":"Ready","status":"True"},{"type":"Other","status":"False"}]}}`},
	"Lease": {"/apis/coordination.k8s.io/v1/namespaces/default/leases", `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"l"},
		"spec":{"holderIdentity":"h","leaseDurationSeconds":15,"renewTime":"2026-11-21T00:00:00.000000Z","leaseTransitions":1}}`},
	"Widget": {widgets, `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"w"},"spec":{"whole":{"a":"1","b":"2"},"set":["x","y"],"list":["x","y"],
		"items":[{"id":1,"zone":"a","text":"x","nested":{"a":"b"}},{"id":2,"text":"y"}],"free":{"a":1,"b":[1,{"c":null}],"d":{"e":1.5}},"number":1.5,"replicas":1},
		"status":{"phase":"x"}}`},
}

const accountedDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          status: {type: object, properties: {phase: {type: string}}}
          spec:
            type: object
            properties:
              whole: {type: object, x-kubernetes-map-type: atomic, additionalProperties: {type: string}}
              set: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              list: {type: array, items: {type: string}}
              items:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [id, zone]
                items:
                  type: object
                  required: [id]
                  properties:
                    id: {type: integer}
                    zone: {type: string, default: z}
                    text: {type: string}
                    nested: {type: object, additionalProperties: {type: string}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              number: {type: number}
              replicas: {type: integer}
`

// TestAccountsAgree: what account says of who manages what is what apimachinery says, through a life of changes by several
// programs, in the object and in its status.
func TestAccountsAgree(t *testing.T) {
	builtin := resource.NewRegistry(resource.Builtin())
	kinds := map[string]*resource.Resource{
		"ConfigMap": builtin.Lookup("", "v1", "configmaps"), "Deployment": builtin.Lookup("apps", "v1", "deployments"),
		"Lease": builtin.Lookup("coordination.k8s.io", "v1", "leases"), "Widget": resourcesOf(t, asJSON(t, accountedDefinition))[0],
	}
	for name, kind := range accounted {
		t.Run(name, func(t *testing.T) {
			whole, err := jsontext.Unmarshal([]byte(kind.object))
			if err != nil {
				t.Fatal(err)
			}
			tgt := target{Ref: resource.Ref{Resource: kinds[name]}, fields: newFieldManagers(kinds[name])}
			random := rand.New(rand.NewPCG(1, 2))
			writes, done := 0, 0
			for range 60 {
				old := emptyObject(tgt.Resource)
				for range 12 {
					wr := &writeRequest{target: tgt, writeOptions: writeOptions{manager: []string{"", "a", "b", "c"}[random.IntN(4)]}}
					if tgt.Resource.Status && old.GetUID() != "" && random.IntN(3) == 0 {
						wr.Subresource = resource.StatusSubresource
					}
					next := newDocument(mutate(random, whole, 1+random.IntN(8)).(map[string]any))
					next.metadata()["uid"] = "u"
					if wr.Subresource != "" {
						status := next.Object["status"]
						next = old.copy()
						next.Object["status"] = status
					}
					if random.IntN(2) == 0 { // as after a get
						next.take(old, "managedFields")
					} else {
						next.drop("managedFields")
					}
					writes++
					got, want := next.copy(), next.copy()
					ok := wr.account(old, got)
					if !ok && cmp.Diff(next.Object, got.Object) != "" {
						t.Fatal("left undone, and changed something")
					}
					if _, err := wr.fields().of[wr.Subresource].Update(old.copy().Unstructured, want.Unstructured, wr.manager); err != nil {
						if ok {
							t.Fatalf("the library refuses: %v\n%v", err, next.Object)
						}
						continue
					}
					if ok {
						done++
						if diff := cmp.Diff(timeless(want), timeless(got)); diff != "" {
							t.Fatalf("by %q, %s (-want +got):\n%s\nold: %v\nnext: %v", wr.manager, wr.Subresource, diff, old.Object, next.Object)
						}
					}
					old = want
				}
			}
			if done < writes/3 {
				t.Errorf("%d of %d writes were left to the library", writes-done, writes)
			}
		})
	}
}

// timeless is an object whose managedFields have no times, and are in an order that does not hang on them.
func timeless(d document) map[string]any {
	out := d.copy()
	entries, _, _ := unstructured.NestedSlice(out.Object, "metadata", "managedFields")
	for _, e := range entries {
		if _, ok := e.(map[string]any)["time"]; !ok {
			e.(map[string]any)["time"] = "missing"
			continue
		}
		delete(e.(map[string]any), "time")
	}
	slices.SortFunc(entries, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	if entries != nil {
		out.metadata()["managedFields"] = entries
	}
	return out.Object
}

// mutate is a value of which some things are missing, or different; of changes about every rate-th is none.
func mutate(random *rand.Rand, v any, rate int) any {
	changes := random.IntN(4*rate) == 0
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			fixed := name == "kind" || name == "apiVersion" || name == "metadata" || name == "id" || name == "type" || name == "key" || name == "containerPort"
			if random.IntN(8*rate) > 0 || fixed {
				out[name] = mutate(random, v[name], rate)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, element := range v {
			if random.IntN(6*rate) > 0 {
				out = append(out, mutate(random, element, rate*4))
			}
		}
		if changes {
			random.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		}
		return out
	case string:
		if changes && !strings.ContainsAny(v, "/.") && len(v) < 3 {
			return []string{"x", "y", "z"}[random.IntN(3)]
		}
	case int64:
		if changes && v < 10 {
			return v + 1
		}
	case float64:
		if changes {
			return v + 1
		}
	}
	return v
}
