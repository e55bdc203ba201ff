package protobuf_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"revtail/encoding/codec"
	"revtail/encoding/protobuf"
)

// FuzzDecode checks that Decode returns an object within the limits, which JSON can represent, or one of its errors for any body.
func FuzzDecode(f *testing.F) {
	for kind, object := range served() {
		f.Add(encode(f, kind, object))
		fill(reflect.ValueOf(object).Elem())
		f.Add(encode(f, kind, object))
	}
	f.Add(encode(f, apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), definition(2)))
	f.Add(envelope(f, "example.com/v1", "Widget", nil))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := protobuf.Decode(body)
		if err != nil {
			_, syntax := errors.AsType[*codec.SyntaxError](err)
			_, limit := errors.AsType[*codec.LimitError](err)
			_, kind := errors.AsType[*protobuf.UnknownKindError](err)
			if !syntax && !limit && !kind && !errors.Is(err, codec.ErrNotUTF8) && !errors.Is(err, protobuf.ErrNotProtobuf) {
				t.Errorf("an undocumented error: %v", err)
			}
			return
		}
		text, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		again, err := codec.Decode(codec.JSON, text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, again.Object); diff != "" {
			t.Errorf("as JSON (-want +got):\n%s", diff)
		}
	})
}
