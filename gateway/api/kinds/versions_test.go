package kinds_test

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/encoding/jsontext"
	"revtail/gateway/api/kinds"
	"revtail/gateway/resource"
)

// recent is an event as events.k8s.io has it.
const recent = `{"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"web.1","namespace":"default","uid":"u","creationTimestamp":"2026-01-01T00:00:00Z",
	"managedFields":[{"manager":"m","operation":"Update","apiVersion":"events.k8s.io/v1","fieldsType":"FieldsV1","fieldsV1":{"f:note":{}}}]},
	"eventTime":"2026-01-01T00:00:00.000000Z","regarding":{"kind":"Pod","namespace":"default","name":"web"},"note":"assigned","reason":"Scheduled","type":"Normal",
	"action":"Binding","reportingController":"example.com/scheduler","reportingInstance":"scheduler-1"}`

func decoded(tb testing.TB, text string) map[string]any {
	tb.Helper()
	object, err := jsontext.Unmarshal([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return object
}

// otherVersions returns the resources that are served in another version than the stored one.
func otherVersions() (out []*resource.Resource) {
	for _, res := range kinds.Builtin() {
		if !res.IsStored() {
			out = append(out, res)
		}
	}
	return out
}

// TestConversion checks that what is stored of an object is read as the object, and that a value of another kind is left as it is.
func TestConversion(t *testing.T) {
	for _, res := range otherVersions() {
		if len(res.Versions) != 2 || res.Convert == nil {
			t.Errorf("%s of %s has %d versions", res.QualifiedName(), res.APIVersion(), len(res.Versions))
		}
		if res.Group != "events.k8s.io" {
			continue
		}
		object := decoded(t, recent)
		res.Store(object)
		if object["apiVersion"] != "v1" || object["message"] != "assigned" || object["reportingComponent"] != "example.com/scheduler" {
			t.Errorf("stored: %v", object)
		}
		res.Defaults(object)
		for name, value := range decoded(t, recent) {
			if diff := cmp.Diff(value, object[name]); diff != "" {
				t.Errorf("%s is read as (-want +got):\n%s", name, diff)
			}
		}
		odd := map[string]any{"metadata": "none", "count": "many"}
		kept := maps.Clone(odd)
		if res.Defaults(odd); !cmp.Equal(kept, odd) {
			t.Errorf("a value that is no event is read as %v", odd)
		}
	}
}

// BenchmarkConversion converts a stored event to one of events.k8s.io, as its cache does for each change.
func BenchmarkConversion(b *testing.B) {
	for _, res := range otherVersions() {
		if res.Group != "events.k8s.io" {
			continue
		}
		stored := decoded(b, recent)
		res.Store(stored)
		text, err := json.Marshal(stored)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			object, _ := jsontext.Unmarshal(text) // it is valid
			res.Defaults(object)
		}
	}
}
