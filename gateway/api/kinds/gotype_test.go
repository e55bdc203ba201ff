package kinds_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	kjson "sigs.k8s.io/json"

	"revtail/encoding/gotype"
	"revtail/gateway/api/kinds"
)

// TestGoTypes compares the conversion of random objects of all kinds, and of objects in which something is wrong, with that of
// runtime.DefaultUnstructuredConverter.
func TestGoTypes(t *testing.T) {
	const objects = 60
	filler := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(1), legacyscheme.Codecs)
	random := rand.New(rand.NewSource(2)) //nolint:gosec // the same values in each run
	reference := runtime.DefaultUnstructuredConverter
	damaged, refused := 0, 0
	for _, res := range kinds.Builtin() {
		kind := reflect.TypeOf(res.GoType)
		for range objects {
			typed := reflect.New(kind).Interface()
			filler.Fill(typed)
			want, err := reference.ToUnstructured(typed)
			if err != nil {
				t.Fatal(err)
			}
			object, err := gotype.Encode(typed)
			if err != nil {
				t.Fatalf("%s: %v", res.Kind, err)
			}
			if difference := cmp.Diff(withoutNulls(want), withoutNulls(object)); difference != "" {
				t.Fatalf("%s: %s", res.Kind, difference)
			}
			object = asJSON(t, want)
			if random.Intn(2) == 0 {
				damage(random, object)
				damaged++
			}
			got, expected := reflect.New(kind).Interface(), reflect.New(kind).Interface()
			err, failed := gotype.Decode(object, got), reference.FromUnstructured(object, expected)
			if failed != nil {
				refused++
				if err == nil || err.Error() != failed.Error() {
					t.Fatalf("%s: error %v, want %v", res.Kind, err, failed)
				}
			} else if err != nil || !reflect.DeepEqual(got, expected) {
				t.Fatalf("%s: %v %s", res.Kind, err, cmp.Diff(expected, got))
			}
			compareUnmarshal(t, kind, object)
		}
	}
	if damaged < 100 || refused < 20 {
		t.Errorf("%d objects were damaged, and %d refused", damaged, refused)
	}
}

// compareUnmarshal compares what is made of the JSON of an object with what sigs.k8s.io/json makes of it.
func compareUnmarshal(t *testing.T, kind reflect.Type, object map[string]any) {
	t.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	got, want := reflect.New(kind).Interface(), reflect.New(kind).Interface()
	err, failed := gotype.Unmarshal(text, got), kjson.UnmarshalCaseSensitivePreserveInts(text, want)
	if fmt.Sprint(err) != fmt.Sprint(failed) || !reflect.DeepEqual(got, want) {
		t.Fatalf("%s: %v, want %v: %s", text, err, failed, cmp.Diff(want, got))
	}
}

// asJSON returns an object as a client sends it: numbers are int64 or float64.
func asJSON(t *testing.T, object map[string]any) (out map[string]any) {
	t.Helper()
	text, err := json.Marshal(object)
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// damage replaces one member, wherever it is, by a value of another type.
func damage(random *rand.Rand, object map[string]any) {
	values := []any{nil, "text", true, int64(-1), int64(1 << 40), 1.5, []any{}, []any{nil, "x"}, map[string]any{}, map[string]any{"name": int64(1), "x": nil}}
	names := slices.Sorted(maps.Keys(object))
	if len(names) == 0 {
		return
	}
	name := names[random.Intn(len(names))]
	switch value := object[name].(type) {
	case map[string]any:
		if random.Intn(4) > 0 {
			damage(random, value)
			return
		}
	case []any:
		if len(value) > 0 && random.Intn(4) > 0 {
			if element, ok := value[random.Intn(len(value))].(map[string]any); ok {
				damage(random, element)
				return
			}
		}
	}
	object[name] = values[random.Intn(len(values))]
}

// withoutNulls returns decoded JSON without its nulls, empty lists and empty maps.
func withoutNulls(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, member := range value {
			if member = withoutNulls(member); member != nil {
				out[name] = member
			}
		}
		if len(out) > 0 {
			return out
		}
		return nil
	case []any:
		out := make([]any, len(value))
		for i := range value {
			out[i] = withoutNulls(value[i])
		}
		if len(out) > 0 {
			return out
		}
		return nil
	}
	return value
}

// BenchmarkGoTypes compares both conversions of a Deployment, there and back.
func BenchmarkGoTypes(b *testing.B) {
	var object map[string]any
	text := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","labels":{"app":"web"},"creationTimestamp":"2026-11-25T12:00:00Z"},
		"spec":{"replicas":3,"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[
		{"name":"web","image":"nginx","ports":[{"containerPort":80}],"resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]}}}}`
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), &object); err != nil {
		b.Fatal(err)
	}
	both := map[string]struct {
		decode func(map[string]any, any) error
		encode func(any) (map[string]any, error)
	}{
		"gotype":  {gotype.Decode, gotype.Encode},
		"runtime": {runtime.DefaultUnstructuredConverter.FromUnstructured, runtime.DefaultUnstructuredConverter.ToUnstructured},
	}
	for name, converter := range both {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				typed := &appsv1.Deployment{}
				if err := converter.decode(object, typed); err != nil {
					b.Fatal(err)
				}
				if _, err := converter.encode(typed); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
