package gateway

import (
	"math/rand/v2"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding/jsontext"
	"revtail/gateway/resource"
)

// TestShapesAreSure: what fits is taken by the strict parser without a complaint, and what usually is sent fits.
func TestShapesAreSure(t *testing.T) {
	odd := []any{nil, "", "x", "1", "AA==", "25%", "2026-11-21T00:00:00Z", "2026-11-21T00:00:00.000000Z", true, int64(1), int64(1) << 40, -1.5, 2.0,
		map[string]any{}, map[string]any{"x": "y"}, []any{}, []any{"x"}, []any{int64(1)}, []any{map[string]any{}}}
	builtin := resource.NewRegistry(resource.Builtin())
	for name, kind := range map[string]*resource.Resource{
		"ConfigMap": builtin.Lookup("", "v1", "configmaps"), "Deployment": builtin.Lookup("apps", "v1", "deployments"),
		"Lease": builtin.Lookup("coordination.k8s.io", "v1", "leases"),
	} {
		t.Run(name, func(t *testing.T) {
			object, err := jsontext.Unmarshal([]byte(accounted[name].object))
			if err != nil {
				t.Fatal(err)
			}
			whole := newDocument(object)
			whole.metadata()["creationTimestamp"] = "2026-11-21T00:00:00Z"
			whole.metadata()["managedFields"] = []any{map[string]any{"manager": "m", "time": nil, "fieldsV1": map[string]any{"f:a": map[string]any{}}}}
			if !whole.fits(kind) {
				t.Fatal("an ordinary object does not fit")
			}
			random := rand.New(rand.NewPCG(1, 2))
			fitting := 0
			for range 20_000 {
				object, ok := disturb(random, whole.Object, odd).(map[string]any)
				d := newDocument(object)
				if !ok || !d.fits(kind) {
					continue
				}
				fitting++
				found, err := d.readStrictly(d.Object, reflect.New(reflect.TypeOf(kind.GoType)).Interface())
				if found || err != nil {
					t.Fatalf("%v fits, and is refused: %v %v", d.Object, err, d.findings)
				}
				slow := &metav1.ObjectMeta{}
				if err := readMeta(d.metadata(), slow); err != nil {
					t.Fatal(err)
				}
				fast, err := d.meta()
				slow.ManagedFields = nil
				if err != nil || !sameMeta(slow, fast) {
					t.Fatalf("metadata %v is read as %v, not as %v: %v", d.metadata(), fast, slow, err)
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
			return withMember(v, []string{"x", "name", "labels", "Data"}[random.IntN(4)], odd[random.IntN(len(odd))])
		}
		at := random.IntN(len(v))
		for name, member := range v {
			if at--; at < 0 {
				return withMember(v, name, disturb(random, member, odd))
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
