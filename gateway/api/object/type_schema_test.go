package object

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"

	"revtail/encoding/jsontext"
	"revtail/gateway/resource"
)

// sampleObject returns an object of a built-in kind, with values in every sort of list and map. The tests of package managedfields read the
// same files.
func sampleObject(tb testing.TB, kind string) Object {
	tb.Helper()
	text, err := os.ReadFile("testdata/" + strings.ToLower(kind) + ".json")
	if err != nil {
		tb.Fatal(err)
	}
	value, err := jsontext.Unmarshal(text)
	if err != nil {
		tb.Fatal(err)
	}
	return New(value)
}

// TestTypeSchemas checks that the strict parser accepts an object that matches, and that ordinary objects match.
func TestTypeSchemas(t *testing.T) {
	odd := []any{nil, "", "x", "1", "AA==", "25%", "2026-11-21T00:00:00Z", "2026-11-21T00:00:00.000000Z", true, int64(1), int64(1) << 40, -1.5, 2.0,
		map[string]any{}, map[string]any{"x": "y"}, []any{}, []any{"x"}, []any{int64(1)}, []any{map[string]any{}}}
	builtin := resource.NewRegistry(resource.Builtin())
	for name, kind := range map[string]*resource.Resource{
		"ConfigMap": builtin.Lookup("", "v1", "configmaps"), "Deployment": builtin.Lookup("apps", "v1", "deployments"),
		"Lease": builtin.Lookup("coordination.k8s.io", "v1", "leases"),
	} {
		t.Run(name, func(t *testing.T) {
			whole := sampleObject(t, name)
			whole.Metadata()["creationTimestamp"] = "2026-11-21T00:00:00Z"
			whole.Metadata()["managedFields"] = []any{map[string]any{"manager": "m", "time": nil, "fieldsV1": map[string]any{"f:a": map[string]any{}}}}
			if !whole.matchesType(kind) {
				t.Fatal("an ordinary object does not match")
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
					t.Fatalf("%v matches, but is refused: %v %v", d.Object, err, d.FieldWarnings)
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
					t.Fatalf("metadata %v is read as %v, want %v: %v", d.Metadata(), fast, slow, err)
				}
			}
			if fitting < 1000 {
				t.Errorf("only %d objects match", fitting)
			}
		})
	}
}

// sameMeta treats nil, an empty list and an empty map as equal.
func sameMeta(a, b *metav1.ObjectMeta) bool {
	text := func(m *metav1.ObjectMeta) string { out, _ := m.Marshal(); return string(out) }
	return text(a) == text(b)
}

// disturb returns a copy of a value with one part replaced.
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

// BenchmarkTypes measures the steps of a write that read all fields of an object: the comparison with its Go type, and its metadata.
func BenchmarkTypes(b *testing.B) {
	builtin := resource.NewRegistry(resource.Builtin())
	for name, res := range map[string]*resource.Resource{
		"ConfigMap": builtin.Lookup("", "v1", "configmaps"), "Deployment": builtin.Lookup("apps", "v1", "deployments"),
	} {
		d := sampleObject(b, name)
		b.Run(name+"/type", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !d.matchesType(res) {
					b.Fatal("the object does not match its type")
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
