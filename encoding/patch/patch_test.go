package patch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"revtail/encoding"
	"revtail/encoding/jsontext"
)

// applier is the type of Merge and JSON.
type applier func(ctx context.Context, doc map[string]any, patch []byte) (map[string]any, error)

// strategic returns Strategic for a Go type.
func strategic(dataStruct any) applier {
	return func(ctx context.Context, doc map[string]any, patch []byte) (map[string]any, error) {
		return Strategic(ctx, doc, patch, dataStruct)
	}
}

// text applies a patch to a document as text.
func (apply applier) text(t *testing.T, doc, patch string) (string, error) {
	t.Helper()
	object, err := jsontext.Unmarshal([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	result, err := apply(t.Context(), object, []byte(patch))
	if err != nil {
		return "", err
	}
	text, err := encoding.MarshalValue(result)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), nil
}

// compact returns a document with its members in the order of MarshalValue.
func compact(t *testing.T, doc string) string {
	t.Helper()
	text, err := applier(Merge).text(t, doc, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestMerge(t *testing.T) {
	tests := []struct{ doc, patch, want string }{
		// the examples of RFC 7386 in which both are objects
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		// further cases of the protocol
		{`{"metadata":{"resourceVersion":"7"}}`, `{"metadata":{"resourceVersion":"5"}}`, `{"metadata":{"resourceVersion":"5"}}`},
		{`{"a":9223372036854775807,"b":18446744073709551617}`, `{"c":0.10000000000000000001}`,
			`{"a":9223372036854775807,"b":18446744073709551617,"c":0.10000000000000000001}`},
		{`{"a":"<"}`, `{"b":">"}`, `{"a":"<","b":">"}`},
		{`{"a":1}`, `{}`, `{"a":1}`},
	}
	for _, tt := range tests {
		got, err := applier(Merge).text(t, tt.doc, tt.patch)
		if err != nil || got != tt.want {
			t.Errorf("%s + %s: got %s, %v; want %s", tt.doc, tt.patch, got, err, tt.want)
		}
	}
}

func TestJSON(t *testing.T) {
	const doc = `{"b":{"x/y":1,"m~n":2},"a":[1,2,3],"n":18446744073709551617,"t":"<"}`
	tests := []struct{ name, patch, want string }{
		{"add", `[{"op":"add","path":"/b/z","value":{"k":null}}]`, `{"b":{"x/y":1,"m~n":2,"z":{"k":null}},"a":[1,2,3],"n":18446744073709551617,"t":"<"}`},
		{"remove", `[{"op":"remove","path":"/b/x~1y"},{"op":"remove","path":"/b/m~0n"}]`, `{"b":{},"a":[1,2,3],"n":18446744073709551617,"t":"<"}`},
		{"replace", `[{"op":"replace","path":"/a/1","value":20000000000000000003}]`, `{"b":{"x/y":1,"m~n":2},"a":[1,20000000000000000003,3],"n":18446744073709551617,"t":"<"}`},
		{"append", `[{"op":"add","path":"/a/-","value":4}]`, `{"b":{"x/y":1,"m~n":2},"a":[1,2,3,4],"n":18446744073709551617,"t":"<"}`},
		{"negative index", `[{"op":"remove","path":"/a/-1"}]`, `{"b":{"x/y":1,"m~n":2},"a":[1,2],"n":18446744073709551617,"t":"<"}`},
		{"move", `[{"op":"move","from":"/b/x~1y","path":"/a/0"}]`, `{"b":{"m~n":2},"a":[1,1,2,3],"n":18446744073709551617,"t":"<"}`},
		{"copy and test", `[{"op":"copy","from":"/n","path":"/c"},{"op":"test","path":"/c","value":18446744073709551617}]`,
			`{"b":{"x/y":1,"m~n":2},"a":[1,2,3],"n":18446744073709551617,"t":"<","c":18446744073709551617}`},
		{"nothing", `[]`, doc},
		{"null in a list", `[{"op":"add","path":"/a/0","value":null},{"op":"test","path":"/a","value":[null,1,2,3]},{"op":"remove","path":"/a/0"}]`, doc},
		{"null for what is missing", `[{"op":"test","path":"/missing","value":null}]`, doc},
		{"empty name", `[{"op":"add","path":"/","value":1},{"op":"test","path":"/","value":1},{"op":"remove","path":"/"}]`, doc},
		{"copy of the whole", `[{"op":"copy","from":"","path":"/c"},{"op":"remove","path":"/c/b"},{"op":"remove","path":"/c"}]`, doc},
		{"replace what is missing", `[{"op":"replace","path":"/c","value":1},{"op":"remove","path":"/a"},{"op":"remove","path":"/n"},{"op":"remove","path":"/t"}]`, `{"b":{"x/y":1,"m~n":2},"c":1}`},
		{"whole", `[{"op":"replace","path":"","value":{"a":1}}]`, `{"a":1}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := applier(JSON).text(t, doc, tt.patch)
			if diff := cmp.Diff(compact(t, tt.want), got); err != nil || diff != "" {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestStrategic(t *testing.T) {
	tests := []struct {
		name             string
		dataStruct       any
		doc, patch, want string
	}{
		{"map", corev1.ConfigMap{}, `{"data":{"a":"1","b":"2"}}`, `{"data":{"a":null,"c":"<"}}`, `{"data":{"b":"2","c":"<"}}`},
		{"list by key", appsv1.Deployment{},
			`{"spec":{"template":{"spec":{"containers":[{"image":"x:1","name":"x"},{"image":"y:1","name":"y"}]}}}}`,
			`{"spec":{"template":{"spec":{"containers":[{"name":"y","image":"y:2"},{"name":"x","$patch":"delete"}]}}}}`,
			`{"spec":{"template":{"spec":{"containers":[{"image":"y:2","name":"y"}]}}}}`},
		{"list of scalars", corev1.Pod{}, `{"metadata":{"finalizers":["a/x","b/x"]}}`, `{"metadata":{"$deleteFromPrimitiveList/finalizers":["a/x"]}}`,
			`{"metadata":{"finalizers":["b/x"]}}`},
		{"replace", corev1.ConfigMap{}, `{"data":{"a":"1"}}`, `{"data":{"$patch":"replace","b":"2"}}`, `{"data":{"b":"2"}}`},
		{"numbers stay", corev1.Pod{}, `{"metadata":{"generation":9223372036854775807},"x":18446744073709551617}`, `{"y":0.10000000000000000001}`,
			`{"metadata":{"generation":9223372036854775807},"x":18446744073709551617,"y":0.10000000000000000001}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := strategic(tt.dataStruct).text(t, tt.doc, tt.patch)
			if diff := cmp.Diff(compact(t, tt.want), got); err != nil || diff != "" {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestMaxOperations checks that a patch with the maximum of operations applies.
func TestMaxOperations(t *testing.T) {
	if _, err := applier(JSON).text(t, `{"a":1}`, operations(MaxOperations)); err != nil {
		t.Error(err)
	}
}

// operations returns a JSON patch of n operations.
func operations(n int) string {
	return `[` + strings.TrimSuffix(strings.Repeat(`{"op":"test","path":"/a","value":1},`, n), ",") + `]`
}

func TestRefuses(t *testing.T) {
	strategic := strategic(corev1.Pod{})
	copies := `[{"op":"add","path":"/x","value":{"y":"z"}}`
	for i := range 40 { // each doubles x
		copies += fmt.Sprintf(`,{"op":"copy","from":"/x","path":"/x/y%d"}`, i)
	}
	copies += `]`
	deep := strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65)
	tests := []struct {
		name       string
		apply      applier
		doc, patch string
		want       error
		text       string // part of the error
	}{
		{"merge malformed", Merge, `{}`, `{bad`, ErrMalformed, "invalid character 'b'"},
		{"merge empty", Merge, `{}`, ``, ErrMalformed, "unexpected end of JSON input"},
		{"merge not UTF-8", Merge, `{}`, "{\"\xff\":1}", ErrMalformed, "UTF-8"},
		{"merge array", Merge, `{}`, `[]`, ErrNotObject, "json: cannot unmarshal array into Go value of type map[string]interface {}"},
		{"merge null", Merge, `{}`, `null`, ErrNotObject, ""},
		{"merge deep", Merge, `{}`, deep, ErrTooLarge, "64 levels"},
		{"strategic malformed", strategic, `{}`, `{bad`, ErrMalformed, ""},
		{"strategic array", strategic, `{}`, `[]`, ErrNotObject, ""},
		{"strategic deep", strategic, `{}`, deep, ErrTooLarge, ""},
		{"strategic same list again and again", strategic, `{"spec":{"containers":[{"name":"a","env":[` + strings.Repeat(`{"name":"b"},`, 2000) + `{"name":"c"}]}]}}`,
			`{"spec":{"containers":[` + strings.Repeat(`{"name":"a","env":[{"name":"d"}]},`, 1000) + `{"name":"b"}]}}`, ErrTooLarge, "again and again"},
		{"strategic without key", strategic, `{"spec":{"containers":[{"name":"a"}]}}`, `{"spec":{"containers":[{"image":"x"}]}}`, ErrFailed, "merge key: name"},
		{"strategic list as a key", strategic, `{"spec":{"containers":[{"name":["a"]}]}}`, `{"spec":{"containers":[{"name":["a"]}]}}`, ErrFailed, "cannot be merged"},
		{"strategic into null", strategic, `{"spec":{"containers":[null]}}`, `{"spec":{"containers":[{"name":"a"}]}}`, ErrFailed, "cannot be merged"},
		{"strategic unknown directive", strategic, `{"spec":{}}`, `{"spec":{"$patch":"grow"}}`, ErrFailed, "unknown patch type"},
		{"json malformed", JSON, `{}`, `[{]`, ErrMalformed, ""},
		{"json object", JSON, `{}`, `{"op":"add"}`, ErrMalformed, "cannot unmarshal object"},
		{"json test", JSON, `{"a":2}`, `[{"op":"test","path":"/a","value":1}]`, ErrFailed, "test"},
		{"json unknown operation", JSON, `{}`, `[{"op":"grow","path":"/a"}]`, ErrFailed, "unsupported operation"},
		{"json without operation", JSON, `{}`, `[{}]`, ErrFailed, ""},
		{"json operation that is a number", JSON, `{}`, `[5]`, ErrMalformed, ""},
		{"json null operation", JSON, `{}`, `[null]`, ErrMalformed, ""},
		{"json missing path", JSON, `{}`, `[{"op":"remove","path":"/a"}]`, ErrFailed, ""},
		{"json missing parent", JSON, `{}`, `[{"op":"add","path":"/a/b/c","value":1}]`, ErrFailed, ""},
		{"json index out of range", JSON, `{"a":[]}`, `[{"op":"replace","path":"/a/5","value":1}]`, ErrFailed, ""},
		{"json too many operations", JSON, `{"a":1}`, operations(MaxOperations + 1), ErrTooLarge, "10001 operations, 10000 are allowed"},
		{"json copies", JSON, `{}`, copies, ErrTooLarge, ""},
		{"json too many moves", JSON, `{"a":[` + strings.Repeat("0,", 90_000) + `0]}`, `[` + strings.Repeat(`{"op":"remove","path":"/a/0"},`, 1200) + `{}]`, ErrTooLarge, "send fewer at a time"},
		{"json move into itself", JSON, `{"a":{}}`, `[{"op":"move","from":"/a","path":"/a/b"}]`, ErrFailed, "into itself"},
		{"json invalid pointer", JSON, `{"a":1}`, `[{"op":"remove","path":"x/a"}]`, ErrFailed, "does not begin with a slash"},
		{"json test without value", JSON, `{"a":1}`, `[{"op":"test","path":""}]`, ErrFailed, "a test needs a value"},
		{"json result not an object", JSON, `{}`, `[{"op":"replace","path":"","value":[]}]`, ErrFailed, "not an object"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.apply.text(t, tt.doc, tt.patch)
			if !errors.Is(err, tt.want) || !strings.Contains(fmt.Sprint(err), tt.text) {
				t.Errorf("got %.200s, error %.200v; want %v with %q", got, err, tt.want, tt.text)
			}
		})
	}
}
