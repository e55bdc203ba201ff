package object

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"revtail/encoding/jsontext"
)

const keptMetadata = `"name":"a","namespace":"n","uid":"u","resourceVersion":"7","creationTimestamp":"2026-11-21T00:00:00Z","labels":{"app":"web","tier":""}`

func TestKeepsMetadata(t *testing.T) {
	for next, keeps := range map[string]bool{
		keptMetadata:                                    true,
		keptMetadata + `,"generation":2`:                true,
		keptMetadata + `,"managedFields":[]`:            true,
		keptMetadata + `,"generation":"2"`:              false,
		keptMetadata + `,"annotations":{}`:              false,
		keptMetadata + `,"finalizers":["f"]`:            false,
		`"name":"a","namespace":"n","uid":"u"`:          false,
		`"name":"b"` + keptMetadata[len(`"name":"a"`):]: false,
	} {
		if got := documentOf(t, next).KeepsMetadata(documentOf(t, keptMetadata+`,"generation":1`)); got != keeps {
			t.Errorf("%s: %v", next, got)
		}
	}
	for _, unusual := range []string{
		`"name":"a","labels":{"a/b":"c"}`, `"name":"a","labels":{"-a":"c"}`, `"name":"a","labels":{"a":"c."}`, `"name":"a","labels":{"a":1}`,
		`"name":"a","labels":["a"]`, `"name":"a","creationTimestamp":"yesterday"`, `"name":"a","uid":"u","deletionTimestamp":"2026-11-21T00:00:00Z"`,
	} {
		if d := documentOf(t, unusual); d.KeepsMetadata(d) {
			t.Errorf("%s is not checked", unusual)
		}
	}
}

func documentOf(t *testing.T, metadata string) Object {
	t.Helper()
	object, err := jsontext.Unmarshal([]byte(`{"metadata":{` + metadata + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	return New(object)
}

// The library accepts all metadata that is not checked.
func TestKeptMetadataIsValid(t *testing.T) {
	text := rapid.StringMatching(`[-a-zA-Z0-9_./é]{0,66}`)
	rapid.Check(t, func(rt *rapid.T) {
		key, value := text.Draw(rt, "key"), text.Draw(rt, "value")
		if !areLabels(map[string]any{key: value}) {
			return
		}
		if errs := metav1validation.ValidateLabels(map[string]string{key: value}, field.NewPath("labels")); len(errs) > 0 {
			rt.Error(errs)
		}
		d := documentOf(t, keptMetadata)
		d.Metadata()["labels"] = map[string]any{key: value}
		meta, err := d.TypedMetadata()
		if err != nil {
			rt.Fatal(err)
		}
		if errs := validation.ValidateObjectMetaUpdate(meta, meta, field.NewPath("metadata")); !d.KeepsMetadata(d) || len(errs) > 0 {
			rt.Error(errs)
		}
	})
}
