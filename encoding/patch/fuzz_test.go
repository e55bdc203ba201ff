package patch

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"revtail/encoding/jsontext"
)

// known reports whether err is one of the documented errors.
func known(err error) bool {
	for _, kind := range []error{ErrMalformed, ErrNotObject, ErrTooLarge, ErrFailed} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// applied applies a patch that a fuzz test has made, and returns the document and the result. It fails the test for an undocumented error,
// and skips it if the document is none.
func (apply applier) applied(t *testing.T, doc, patch []byte) (object, result map[string]any, err error) {
	t.Helper()
	object, err = jsontext.Unmarshal(doc)
	if err != nil {
		t.Skip("no document")
	}
	result, err = apply(t.Context(), runtime.DeepCopyJSON(object), patch)
	if err != nil && !known(err) {
		t.Errorf("an undocumented error: %v", err)
	}
	return object, result, err
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[1],"c":null}}`), []byte(`{"a":{"b":null,"d":{"e":null}},"f":1.50}`))
	f.Add([]byte(`{}`), []byte(`[]`))
	f.Fuzz(func(t *testing.T, doc, patch []byte) {
		original, got, err := applier(Merge).applied(t, doc, patch)
		if err != nil {
			return
		}
		changes, _ := jsontext.Unmarshal(patch)
		if diff := cmp.Diff(merged(original, changes), any(got)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// merged is the algorithm of RFC 7386.
func merged(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	result := map[string]any{}
	if members, ok := target.(map[string]any); ok {
		for name, value := range members {
			result[name] = value
		}
	}
	for name, value := range changes {
		if value == nil {
			delete(result, name)
		} else {
			result[name] = merged(result[name], value)
		}
	}
	return result
}

// FuzzJSON checks that a patch that applies has the result of RFC 6902.
func FuzzJSON(f *testing.F) {
	const doc = `{"a":[1,{"b":"c"}],"d":{"e":null}}`
	for _, patch := range []string{
		`[{"op":"add","path":"/a/-","value":1},{"op":"move","from":"/a/0","path":"/d/e"},{"op":"copy","from":"/a","path":"/x"}]`,
		`[{"op":"test","path":"","value":{}},{"op":"replace","path":"/a/1/b","value":1},{"op":"remove","path":"/a/-1"}]`,
		`[{"op":"add","path":"","value":null},{"op":"add","path":"/a","value":null}]`,
		`[{"op":"replace","path":"","value":{"d":[0,1]}},{"op":"copy","from":"/d","path":"/d/1"},{"op":"test","path":"/d/0","value":0}]`,
	} {
		f.Add([]byte(doc), []byte(patch))
	}
	f.Add([]byte(`{"a":[]}`), []byte(`[{"op":"add","path":"/"}]`))
	f.Add([]byte(`{"":1}`), []byte(`[{"op":"copy","from":"","path":"/a"},{"op":"test","path":"/","value":1},{"op":"test","path":"/b","value":null}]`))
	f.Fuzz(func(t *testing.T, doc, patch []byte) {
		want, result, err := applier(JSON).applied(t, doc, patch)
		if err != nil {
			return
		}
		var wanted any = want
		operations, _ := jsontext.UnmarshalValue(patch)
		for _, step := range operations.([]any) {
			wanted = rfc6902(t, wanted, step.(map[string]any))
		}
		if diff := cmp.Diff(wanted, any(result)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func FuzzStrategic(f *testing.F) {
	const doc = `{"metadata":{"finalizers":["a","b"]},"spec":{"containers":[{"name":"x","ports":[{"containerPort":80}]}],"tolerations":[{}]}}`
	for _, patch := range []string{
		`{"spec":{"containers":[{"name":"x","$patch":"delete"},{"name":"y"}],"$setElementOrder/containers":[{"name":"y"}]}}`,
		`{"metadata":{"$deleteFromPrimitiveList/finalizers":["a"],"finalizers":["c"]},"spec":{"$retainKeys":["volumes"],"volumes":null}}`,
		`{"$patch":"replace","spec":{"containers":[{"$patch":"replace"}]}}`,
	} {
		f.Add([]byte(doc), []byte(patch))
	}
	f.Fuzz(func(t *testing.T, doc, patch []byte) {
		compareStrategic(t, doc, patch)
	})
}
