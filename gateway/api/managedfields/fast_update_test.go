package managedfields

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"revtail/encoding/jsontext"
	"revtail/gateway/api/customresource"
	"revtail/gateway/api/object"
	"revtail/gateway/resource"
)

// managedWidget is an object of managedDefinition, with values in every sort of list and map.
const managedWidget = `{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"w"},"spec":{"whole":{"a":"1","b":"2"},"set":["x","y"],"list":["x","y"],
	"items":[{"id":1,"zone":"a","text":"x","nested":{"a":"b"}},{"id":2,"text":"y"}],"free":{"a":1,"b":[1,{"c":null}],"d":{"e":1.5}},"number":1.5,"replicas":1},
	"status":{"phase":"x"}}`

const managedDefinition = `
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

// managedKinds are the kinds of which managedObject returns objects.
func managedKinds(tb testing.TB) map[string]*resource.Resource {
	tb.Helper()
	text, err := yaml.YAMLToJSON([]byte(managedDefinition))
	if err != nil {
		tb.Fatal(err)
	}
	definition, err := customresource.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	widgets, err := definition.Resources()
	if err != nil {
		tb.Fatal(err)
	}
	builtin := resource.NewRegistry(resource.Builtin())
	return map[string]*resource.Resource{
		"ConfigMap": builtin.Lookup("", "v1", "configmaps"), "Deployment": builtin.Lookup("apps", "v1", "deployments"),
		"Lease": builtin.Lookup("coordination.k8s.io", "v1", "leases"), "Widget": widgets[0],
	}
}

// managedObject returns managedWidget, or an object of a built-in kind from the files of package object.
func managedObject(tb testing.TB, kind string) object.Object {
	tb.Helper()
	text, err := []byte(managedWidget), error(nil)
	if kind != "Widget" {
		text, err = os.ReadFile("../object/testdata/" + strings.ToLower(kind) + ".json")
	}
	if err != nil {
		tb.Fatal(err)
	}
	objectValue, err := jsontext.Unmarshal(text)
	if err != nil {
		tb.Fatal(err)
	}
	return object.New(objectValue)
}

// FuzzFastUpdate compares fastUpdate with the library, through changes of an object and of its status by several managers.
func FuzzFastUpdate(f *testing.F) {
	kinds := managedKinds(f)
	names := slices.Sorted(maps.Keys(kinds))
	all := make(map[string]*Managers, len(kinds))
	updates, fast := map[string]int{}, map[string]int{}
	for i, name := range names {
		all[name] = New(kinds[name])
		for seed := range uint64(60) {
			f.Add(uint8(i), seed)
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, seed uint64) {
		name := names[int(kind)%len(names)]
		random := rand.New(rand.NewPCG(seed, 1))
		whole, old := managedObject(t, name), object.Empty(kinds[name])
		for range 12 {
			by, next := randomChange(random, kinds[name], old, whole)
			got, want := next.Copy(), next.Copy()
			ok := all[name].fastUpdate(by, old, got)
			if !ok && cmp.Diff(next.Object, got.Object) != "" {
				t.Fatal("fastUpdate has reported false and changed the object")
			}
			updates[name]++
			if _, err := all[name].load().bySubresource[by.Subresource].Update(old.Copy().Unstructured, want.Unstructured, by.Manager); err != nil {
				if ok {
					t.Fatalf("the library refuses: %v\n%v", err, next.Object)
				}
				continue
			}
			if ok {
				fast[name]++
				if diff := cmp.Diff(withoutTimes(want), withoutTimes(got)); diff != "" {
					t.Fatalf("%+v (-want +got):\n%s\nold: %v\nnext: %v", by, diff, old.Object, next.Object)
				}
			}
			old = want
		}
	})
	for name, n := range updates {
		if n > 500 && fast[name] < n/3 {
			f.Errorf("%s: fastUpdate has made %d of %d updates", name, fast[name], n)
		}
	}
}

// randomChange changes an object at random to a part of whole.
func randomChange(random *rand.Rand, res *resource.Resource, old, whole object.Object) (Change, object.Object) {
	by := Change{Manager: []string{"", "a", "b", "c"}[random.IntN(4)]}
	next := object.New(mutate(random, whole.Object, 1+random.IntN(8)).(map[string]any))
	next.Metadata()["uid"] = "u"
	if res.Status && old.GetUID() != "" && random.IntN(3) == 0 {
		by.Subresource = resource.StatusSubresource
		status := next.Object["status"]
		next = old.Copy()
		next.Object["status"] = status
	}
	if random.IntN(2) == 0 { // as after a get
		next.CopyMetadata(old, "managedFields")
	} else {
		next.DeleteMetadata("managedFields")
	}
	return by, next
}

// BenchmarkFastUpdate changes one label.
func BenchmarkFastUpdate(b *testing.B) {
	kinds := managedKinds(b)
	for _, name := range []string{"ConfigMap", "Deployment"} {
		b.Run(name, func(b *testing.B) {
			d, m := managedObject(b, name), New(kinds[name])
			d.SetUID("u")
			m.Update(Change{Manager: "m"}, object.Empty(kinds[name]), d)
			next := d.ShallowCopy()
			next.SetLabels(map[string]string{"a": "changed", "c": "d"})
			b.ReportAllocs()
			for b.Loop() {
				next.DeleteMetadata("managedFields")
				if !m.fastUpdate(Change{Manager: "m"}, d, next) {
					b.Fatal("fastUpdate has left the change to the library")
				}
			}
		})
	}
}

// withoutTimes returns an object whose managedFields have no times, in an order that does not depend on them.
func withoutTimes(d object.Object) map[string]any {
	out := d.Copy()
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
		out.Metadata()["managedFields"] = entries
	}
	return out.Object
}

// mutate removes and changes parts of a value at random, fewer with a higher rate.
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
