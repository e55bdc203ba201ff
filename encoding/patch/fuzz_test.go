package patch

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"revtail/encoding/jsontext"
)

// known reports whether err is one of the documented errors.
func known(err error) bool {
	for _, kind := range []error{ErrMalformed, ErrNotObject, ErrTooLarge, ErrFailed, ErrDocument} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

// check checks that a result is an object or a documented error, and that doc is unchanged.
func checkAnswer(t *testing.T, result []byte, err error) {
	t.Helper()
	if err != nil {
		if !known(err) {
			t.Errorf("an undocumented error: %v", err)
		}
		return
	}
	if _, err := jsontext.Unmarshal(result); err != nil {
		t.Errorf("the result is not an object: %v: %s", err, result)
	}
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[1],"c":null}}`), []byte(`{"a":{"b":null,"d":{"e":null}},"f":1.50}`))
	f.Add([]byte(`{}`), []byte(`[]`))
	f.Fuzz(func(t *testing.T, doc, patch []byte) {
		result, err := Merge(doc, patch)
		checkAnswer(t, result, err)
		if err != nil {
			return
		}
		got, _ := jsontext.Unmarshal(result)
		original, _ := jsontext.Unmarshal(doc)
		changes, _ := jsontext.Unmarshal(patch)
		want := merged(original, changes)
		text, err := marshal(want.(map[string]any))
		if err != nil {
			t.Fatal(err)
		}
		again, _ := jsontext.Unmarshal(text)
		if diff := cmp.Diff(again, got); diff != "" {
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
	f.Fuzz(func(t *testing.T, doc, patch []byte) {
		result, err := JSON(doc, patch)
		checkAnswer(t, result, err)
		if err != nil {
			return
		}
		want := decoded(t, doc)
		for _, step := range decoded(t, patch).([]any) {
			want = rfc6902(t, want, step.(map[string]any))
		}
		if diff := cmp.Diff(want, decoded(t, result)); diff != "" {
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
		result, err := Strategic(doc, patch, corev1.Pod{})
		checkAnswer(t, result, err)
	})
}
