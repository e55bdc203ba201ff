package schema

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// tree is a type that contains itself, and has a name and descriptions as the types of Kubernetes have.
type tree struct {
	Name     string `json:"name"`
	Children []tree `json:"children,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Parent   *tree  `json:"parent"`
}

func (tree) OpenAPIModelName() string { return "test.tree" }

func (tree) SwaggerDoc() map[string]string {
	return map[string]string{"": "tree grows.", "name": "what it is called", "parent": "what it grows from"}
}

type inlined struct {
	Inner bool `json:"inner,omitempty"`
}

func TestSchemasOfGoTypes(t *testing.T) {
	type text string
	for _, test := range []struct {
		name  string
		value any
		want  string
	}{
		{"string", text(""), `{"type":"string"}`},
		{"bool", false, `{"type":"boolean"}`},
		{"int32", int32(0), `{"type":"integer","format":"int32"}`},
		{"int64", int64(0), `{"type":"integer","format":"int64"}`},
		{"float64", 0.0, `{"type":"number","format":"double"}`},
		{"bytes", []byte{}, `{"type":"string","format":"byte"}`},
		{"pointer", new(int64), `{"type":"integer","format":"int64"}`},
		{"list", []string{}, `{"type":"array","items":{"type":"string"}}`},
		{"map", map[text]int32{}, `{"type":"object","additionalProperties":{"type":"integer","format":"int32"}}`},
		{"map of bytes", map[string][]byte{}, `{"type":"object","additionalProperties":{"type":"string","format":"byte"}}`},
		{"anything", struct {
			Any any `json:"any,omitempty"`
		}{}, `{"type":"object","properties":{"any":{}}}`},
		{"time", metav1.Time{}, `{"type":"string","format":"date-time"}`},
		{"micro time", metav1.MicroTime{}, `{"type":"string","format":"date-time"}`},
		{"quantity", resource.Quantity{}, `{"oneOf":[{"type":"string"},{"type":"number"}]}`},
		{"number or string", intstr.IntOrString{}, `{"format":"int-or-string","oneOf":[{"type":"integer"},{"type":"string"}]}`},
		{"fields of the same object", struct {
			inlined `json:""`
			Outer   string `json:"outer"`
			Hidden  string `json:"-"`
		}{}, `{"type":"object","required":["outer"],"properties":{"inner":{"type":"boolean"},"outer":{"type":"string"}}}`},
		{"required fields", struct {
			A string   `json:"a"`
			B *string  `json:"b"`
			C *inlined `json:"c"`
			D string   `json:"d,omitempty"`
			E inlined  `json:"e,omitzero"`
		}{}, `{"type":"object","required":["a","c"],"properties":{"a":{"type":"string"},"b":{"type":"string"},"d":{"type":"string"},
			"c":{"type":"object","properties":{"inner":{"type":"boolean"}}},"e":{"type":"object","properties":{"inner":{"type":"boolean"}}}}}`},
		{"itself", tree{}, `{"description":"tree grows.","type":"object","required":["name","parent"],"properties":{
			"name":{"description":"what it is called","type":"string"},
			"parent":{"description":"what it grows from","allOf":[{"$ref":"#/components/schemas/test.tree"}]},
			"children":{"type":"array","items":{"$ref":"#/components/schemas/test.tree"},
				"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],
				"x-kubernetes-patch-merge-key":"name","x-kubernetes-patch-strategy":"merge"}}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := make(Set)
			schema := set.use(reflect.TypeOf(test.value))
			if ref := schema.Ref.String(); ref != "" {
				schema = set[strings.TrimPrefix(ref, "#/components/schemas/")]
			}
			text, err := json.Marshal(schema)
			if err != nil {
				t.Fatal(err)
			}
			var got, want any
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
