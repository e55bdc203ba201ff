package encoding

import (
	"bytes"
	"errors"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/encoding/jsontext"
)

func TestSetResourceVersion(t *testing.T) {
	tests := []struct{ name, doc, want string }{
		{"first member", `{"kind":"Pod","metadata":{"resourceVersion":"7","name":"web"}}`, `{"kind":"Pod","metadata":{"resourceVersion":"12","name":"web"}}`},
		{"later member", `{"spec":{"metadata":{"resourceVersion":"x"}},"metadata":{"name":"web","resourceVersion":"7"}}`,
			`{"spec":{"metadata":{"resourceVersion":"x"}},"metadata":{"name":"web","resourceVersion":"12"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			original := []byte(tt.doc)
			got, err := SetResourceVersion(original, 12)
			if err != nil || string(got) != tt.want || string(original) != tt.doc {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
		})
	}
	for _, doc := range []string{``, `[]`, `{}`, `{"metadata":5}`, `{"metadata":{}}`, `{"metadata":{"resourceVersion":`} {
		_, err := SetResourceVersion([]byte(doc), 12)
		if _, ok := errors.AsType[*jsontext.DecodeError](err); !ok {
			t.Errorf("%q: error %v, want a *jsontext.DecodeError", doc, err)
		}
	}
}

// FuzzSetResourceVersion checks that only the resourceVersion changes, for any document of Normalize.
func FuzzSetResourceVersion(f *testing.F) {
	for _, value := range append(values, texts...) {
		f.Add([]byte(value), int64(7), int64(123456))
	}
	f.Fuzz(func(t *testing.T, value []byte, before, after int64) {
		_, _ = SetResourceVersion(value, after) // must not panic for any value
		object, err := Normalize(value, pod, before)
		if err != nil {
			return
		}
		original := bytes.Clone(object.JSON)
		changed, err := SetResourceVersion(object.JSON, after)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(original, object.JSON) {
			t.Fatal("SetResourceVersion modified its argument")
		}
		want := mustDecode(t, object.JSON)
		want["metadata"].(map[string]any)["resourceVersion"] = strconv.FormatInt(after, 10)
		if diff := cmp.Diff(want, mustDecode(t, changed)); diff != "" {
			t.Errorf("document (-want +got):\n%s", diff)
		}
	})
}

// FuzzAddResourceVersion checks that adding a resourceVersion to the result of Marshal gives the result of Normalize.
func FuzzAddResourceVersion(f *testing.F) {
	for _, value := range append(values, texts...) {
		f.Add([]byte(value), int64(7))
	}
	f.Fuzz(func(t *testing.T, text []byte, resourceVersion int64) {
		object, err := Normalize(text, pod, 1)
		if err != nil {
			return
		}
		value, err := Marshal(mustDecode(t, object.JSON))
		if err != nil {
			return
		}
		want, err := Normalize(value, pod, resourceVersion)
		if err != nil {
			t.Fatal(err)
		}
		if got := AddResourceVersion(value, resourceVersion); !bytes.Equal(got, want.JSON) {
			t.Errorf("got %s, want %s", got, want.JSON)
		}
	})
}
