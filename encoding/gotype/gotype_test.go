package gotype_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"revtail/encoding/gotype"
)

type embedded struct {
	Inner string `json:"inner,omitempty"`
}

// unusual has types that those of Kubernetes hardly have.
type unusual struct {
	embedded `json:",inline"`
	Any      any               `json:"any,omitempty"`
	Size     uint32            `json:"size,omitempty"`
	Share    float32           `json:"share,omitempty"`
	Small    int8              `json:"small,omitempty"`
	Keys     map[string][]byte `json:"keys,omitempty"`
	Next     *unusual          `json:"next,omitempty"`
	List     []*unusual        `json:"list"`
	Hidden   string            `json:"-"`
}

// values are documents, some of which are no objects of any type.
var values = []string{
	`{}`,
	`{"inner":"x","any":{"a":[1,2.5,null]},"size":7,"share":0.5,"small":-3,"keys":{"a":"aGk=","b":null}}`,
	`{"next":{"next":{"inner":"a"}},"list":[null,{"inner":"b"}]}`,
	`{"small":300}`, `{"small":1.0}`, `{"small":1e2}`, `{"small":"1"}`, `{"size":-1}`, `{"keys":{"a":"?"}}`, `{"keys":[]}`, `{"list":{}}`, `{"next":[]}`,
	`{"inner":"a","inner":"b"}`, `{"next":{"inner":"a"},"next":{"size":1}}`, `{"next":{"inner":"a"},"next":null}`,
	`{"\u0069nner":"x"}`, `{"Inner":"x"}`, `{"inner":"\ud83d\ude00 \n"}`, `{"inner":null,"list":null}`,
	`{"metadata":{"name":"p","creationTimestamp":"2026-11-25T12:00:00Z","labels":{"a":"b","c":null},"managedFields":[{"fieldsV1":{"f:a":{}}}]}}`,
	`{"metadata":{"creationTimestamp":"yesterday"}}`, `{"metadata":{"labels":{"a":1}}}`, `{"metadata":"x"}`,
	`{"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":1,"memory":" 1Gi"}},"livenessProbe":{"httpGet":{"port":"http"}}},{"livenessProbe":{"httpGet":{"port":80}}}]}}`,
	`{"spec":{"containers":[{"resources":{"limits":{"cpu":"much"}}}]}}`, `{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":99999999999}}}]}}`,
	`{"spec":{"hostNetwork":"true","activeDeadlineSeconds":12345678901234567890}}`,
	`{"properties":{"a":{"items":{"type":"string"},"default":{"x":1},"enum":[1,"a"]}},"required":["a"],"maximum":3}`,
	`[]`, `null`, ``, `{`, `{"inner":"x"} x`, "{\"inner\":\"\xff\"}",
}

var types = []reflect.Type{reflect.TypeFor[unusual](), reflect.TypeFor[corev1.Pod](), reflect.TypeFor[apiextensionsv1.JSONSchemaProps]()}

// TestUnusualValues compares the conversions of documents with those of sigs.k8s.io/json and runtime.DefaultUnstructuredConverter.
func TestUnusualValues(t *testing.T) {
	for _, text := range values {
		for _, kind := range types {
			compare(t, kind, []byte(text))
		}
	}
}

func compare(t *testing.T, kind reflect.Type, text []byte) {
	t.Helper()
	got, want := reflect.New(kind).Interface(), reflect.New(kind).Interface()
	err, failed := gotype.Unmarshal(text, got), kjson.UnmarshalCaseSensitivePreserveInts(text, want)
	if fmt.Sprint(err) != fmt.Sprint(failed) || failed == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("Unmarshal of %q to %s: %v, want %v: %s", text, kind, err, failed, cmp.Diff(fmt.Sprintf("%#v", want), fmt.Sprintf("%#v", got)))
	}
	var object map[string]any
	if kjson.UnmarshalCaseSensitivePreserveInts(text, &object) != nil {
		return
	}
	got, want = reflect.New(kind).Interface(), reflect.New(kind).Interface()
	err, failed = gotype.Decode(object, got), runtime.DefaultUnstructuredConverter.FromUnstructured(object, want)
	if fmt.Sprint(err) != fmt.Sprint(failed) || failed == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("Decode of %q to %s: %v, want %v: %s", text, kind, err, failed, cmp.Diff(fmt.Sprintf("%#v", want), fmt.Sprintf("%#v", got)))
	}
	if failed != nil {
		return
	}
	members, err := gotype.Encode(got)
	if err != nil {
		t.Fatalf("Encode of %q as %s: %v", text, kind, err)
	}
	encoded, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	again := reflect.New(kind).Interface()
	if err := gotype.Unmarshal(encoded, again); err != nil {
		t.Fatalf("%s: %v", encoded, err)
	}
}

// FuzzUnmarshal compares the conversions of arbitrary documents.
func FuzzUnmarshal(f *testing.F) {
	for _, text := range values {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, kind := range types {
			compare(t, kind, text)
		}
	})
}
