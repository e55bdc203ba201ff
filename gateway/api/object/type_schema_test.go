package object

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"revtail/encoding/jsontext"
	"revtail/gateway/resource"
)

// sampleObjects are objects of built-in kinds, by kind.
var sampleObjects = map[string]string{
	"ConfigMap": `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","labels":{"a":"b","c":"d"},"annotations":{"x/y":"1"},
		"finalizers":["a/b","c/d"],"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"},{"apiVersion":"v1","kind":"Pod","name":"q","uid":"v"}]},
		"data":{"k":"1","l":"2"},"binaryData":{},"immutable":false}`,
	"Deployment": `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"d","generateName":"x"},"spec":{"replicas":3,"selector":{"matchLabels":{"a":"b"}},
		"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1,"maxUnavailable":"25%"}},
		"template":{"metadata":{"labels":{"a":"b"}},"spec":{"nodeSelector":{"n":"m"},"tolerations":[{"key":"k"}],
		"containers":[{"name":"c","image":"i","args":["x","y"],"ports":[{"containerPort":80},{"containerPort":80,"protocol":"UDP"}],"env":[{"name":"A","value":"1"},
		{"name":"B","valueFrom":{"fieldRef":{"fieldPath":"p"}}}],"resources":{"limits":{"cpu":"1","memory":"1Gi"}}},{"name":"e"}],
		"volumes":[{"name":"v","emptyDir":{}},{"name":"w","configMap":{"name":"q","items":[{"key":"k","path":"p"}]}}]}}},
		"status":{"replicas":1,"conditions":[{"type":"Ready","status":"True"},{"type":"Other","status":"False"}]}}`,
	"Lease": `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"l"},
		"spec":{"holderIdentity":"h","leaseDurationSeconds":15,"renewTime":"2026-11-21T00:00:00.000000Z","leaseTransitions":1}}`,
}

// TestTypeSchemas: the strict parser accepts an object that matches, and ordinary objects match.
func TestTypeSchemas(t *testing.T) {
	odd := []any{nil, "", "x", "1", "AA==", "25%", "2026-11-21T00:00:00Z", "2026-11-21T00:00:00.000000Z", true, int64(1), int64(1) << 40, -1.5, 2.0,
		map[string]any{}, map[string]any{"x": "y"}, []any{}, []any{"x"}, []any{int64(1)}, []any{map[string]any{}}}
	builtin := resource.NewRegistry(resource.Builtin())
	for name, kind := range map[string]*resource.Resource{
		"ConfigMap": builtin.Lookup("", "v1", "configmaps"), "Deployment": builtin.Lookup("apps", "v1", "deployments"),
		"Lease": builtin.Lookup("coordination.k8s.io", "v1", "leases"),
	} {
		t.Run(name, func(t *testing.T) {
			object, err := jsontext.Unmarshal([]byte(sampleObjects[name]))
			if err != nil {
				t.Fatal(err)
			}
			whole := New(object)
			whole.Metadata()["creationTimestamp"] = "2026-11-21T00:00:00Z"
			whole.Metadata()["managedFields"] = []any{map[string]any{"manager": "m", "time": nil, "fieldsV1": map[string]any{"f:a": map[string]any{}}}}
			if !whole.matchesType(kind) {
				t.Fatal("an ordinary object does not fit")
			}
			random := rand.New(rand.NewPCG(1, 2))
			fitting := 0
			for range 20_000 {
				object, ok := disturb(random, whole.Object, odd).(map[string]any)
				d := New(object)
				if !ok || !d.matchesType(kind) {
					continue
				}
				fitting++
				found, err := d.readStrictly(d.Object, reflect.New(reflect.TypeOf(kind.GoType)).Interface())
				if found || err != nil {
					t.Fatalf("%v fits, and is refused: %v %v", d.Object, err, d.FieldWarnings)
				}
				slow := &metav1.ObjectMeta{}
				text, err := json.Marshal(d.Metadata())
				if err == nil {
					err = kjson.UnmarshalCaseSensitivePreserveInts(text, slow)
				}
				if err != nil {
					t.Fatal(err)
				}
				fast, err := d.TypedMetadata()
				slow.ManagedFields = nil
				if err != nil || !sameMeta(slow, fast) {
					t.Fatalf("metadata %v is read as %v, not as %v: %v", d.Metadata(), fast, slow, err)
				}
			}
			if fitting < 1000 {
				t.Errorf("only %d fit", fitting)
			}
		})
	}
}

// sameMeta takes nothing for the same as an empty list or map.
func sameMeta(a, b *metav1.ObjectMeta) bool {
	text := func(m *metav1.ObjectMeta) string { out, _ := m.Marshal(); return string(out) }
	return text(a) == text(b)
}

// disturb is a value in which one thing is something else.
func disturb(random *rand.Rand, v any, odd []any) any {
	if random.IntN(4) == 0 {
		return odd[random.IntN(len(odd))]
	}
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			break
		}
		if random.IntN(8) == 0 {
			return WithMember(v, []string{"x", "name", "labels", "Data"}[random.IntN(4)], odd[random.IntN(len(odd))])
		}
		at := random.IntN(len(v))
		for name, member := range v {
			if at--; at < 0 {
				return WithMember(v, name, disturb(random, member, odd))
			}
		}
	case []any:
		if len(v) == 0 {
			break
		}
		out := append([]any(nil), v...)
		i := random.IntN(len(out))
		out[i] = disturb(random, out[i], odd)
		return out
	}
	return odd[random.IntN(len(odd))]
}

// BenchmarkTypes are the steps of a write that read all fields of an object: whether it matches its Go type, and its metadata.
func BenchmarkTypes(b *testing.B) {
	builtin := resource.NewRegistry(resource.Builtin())
	for name, res := range map[string]*resource.Resource{
		"ConfigMap": builtin.Lookup("", "v1", "configmaps"), "Deployment": builtin.Lookup("apps", "v1", "deployments"),
	} {
		object, err := jsontext.Unmarshal([]byte(sampleObjects[name]))
		if err != nil {
			b.Fatal(err)
		}
		d := New(object)
		b.Run(name+"/type", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !d.matchesType(res) {
					b.Fatal("does not match")
				}
			}
		})
		b.Run(name+"/metadata", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d.TypedMetadata(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
