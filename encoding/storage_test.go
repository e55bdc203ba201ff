package encoding

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/encoding/jsontext"
)

func TestMarshal(t *testing.T) {
	tests := []struct {
		name   string
		object map[string]any
		want   string
	}{
		{"empty", map[string]any{}, `{}`},
		{"order", map[string]any{
			"status": map[string]any{"b": nil, "a": true}, "data": []any{}, "apiVersion": "v1", "kind": "Pod",
			"metadata": map[string]any{"uid": "u1", "labels": map[string]any{"name": "x", "a": "y"}, "namespace": "eu", "generateName": "web-",
				"annotations": map[string]any{}, "name": "web-1", "resourceVersion": "7"},
		}, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web-1","generateName":"web-","namespace":"eu","uid":"u1",` +
			`"annotations":{},"labels":{"a":"y","name":"x"}},"data":[],"status":{"a":true,"b":null}}`},
		{"resourceVersion elsewhere", map[string]any{"spec": map[string]any{"resourceVersion": "7"}}, `{"spec":{"resourceVersion":"7"}}`},
		{"metadata that is none", map[string]any{"metadata": "x"}, `{"metadata":"x"}`},
		{"strings", map[string]any{"a": "<&>\u2028\u2029\"\\/\b\f\n\r\t\x00\x1f\x7fé\U0001f600\ufffd"},
			`{"a":"<&>\u2028\u2029\"\\/\b\f\n\r\t\u0000\u001f` + "\x7fé\U0001f600\ufffd" + `"}`},
		{"numbers", map[string]any{"a": []any{int64(math.MinInt64), 1.5, 1e21, 2.0, json.Number("18446744073709551616"), 3}},
			`{"a":[-9223372036854775808,1.5,1e+21,2,18446744073709551616,3]}`},
		{"other types", map[string]any{"a": map[string]string{"b": "<"}, "c": []string{"d"}, "e": map[string]any(nil), "f": []any(nil)},
			`{"a":{"b":"<"},"c":["d"],"e":null,"f":null}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Marshal(tt.object)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestMarshalRefuses(t *testing.T) {
	loop := map[string]any{}
	loop["self"] = []any{loop}
	for name, object := range map[string]map[string]any{
		"NaN":            {"a": math.NaN()},
		"function":       {"a": []any{func() {}}},
		"no number":      {"a": json.Number("1x")},
		"invalid string": {"a": "\xff"},
		"invalid name":   {"\xff": 1},
		"cycle":          loop,
	} {
		if got, err := Marshal(object); err == nil {
			t.Errorf("%s: got %s, want an error", name, got)
		}
	}
}

// FuzzStorage checks that Marshal writes the result of Unmarshal without changing a number, and that Normalize serves it without decoding.
func FuzzStorage(f *testing.F) {
	for _, value := range append(values, texts...) {
		f.Add([]byte(value))
	}
	f.Add([]byte(`{"a":[1.0,1e2,-0.0,9223372036854775808,1e23,5e-324,100000000000000000000000000001]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		object, err := jsontext.Unmarshal(doc)
		if err != nil {
			return
		}
		stored, err := Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		want := mustDecode(t, doc)
		if metadata, ok := want["metadata"].(map[string]any); ok {
			delete(metadata, "resourceVersion")
		}
		if diff := cmp.Diff(want, mustDecode(t, stored), cmp.Comparer(sameNumber)); diff != "" {
			t.Errorf("(-read +written):\n%s", diff)
		}
		again, err := jsontext.Unmarshal(stored)
		if err != nil {
			t.Fatal(err)
		}
		if second, err := Marshal(again); err != nil || string(second) != string(stored) {
			t.Errorf("written again: %s, %v; want %s", second, err, stored)
		}
		checkSpliced(t, object)
	})
}

func sameNumber(a, b json.Number) bool {
	x, _ := a.Float64()
	y, _ := b.Float64()
	return a == b || x == y
}

// checkSpliced checks that an object with an identity is stored in the form that splice serves.
func checkSpliced(t *testing.T, object map[string]any) {
	t.Helper()
	object["kind"], object["apiVersion"] = pod.Kind, pod.APIVersion
	object["metadata"] = map[string]any{"name": pod.Name, "namespace": pod.Namespace, "annotations": object["metadata"]}
	stored, err := Marshal(object)
	if err != nil {
		if strings.Contains(err.Error(), "nested deeper") {
			return // one level more than before
		}
		t.Fatal(err)
	}
	if _, ok := splice(nil, stored, pod, 7); !ok {
		t.Errorf("not spliced: %s", stored)
	}
}
