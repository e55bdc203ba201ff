package openapi

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// TestSchemaV2 checks that the schema leaves out what OpenAPI v2 lacks and what its clients cannot read.
func TestSchemaV2(t *testing.T) {
	decode := func(text string) (value any) {
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		return value
	}
	for _, test := range []struct{ name, v3, v2 string }{
		{"in both versions", `{"type":"string","pattern":"a","maxLength":3,"enum":["a"],"default":"a"}`,
			`{"type":"string","pattern":"a","maxLength":3,"enum":["a"],"default":"a"}`},
		{"choices", `{"type":"integer","oneOf":[{"minimum":1}],"anyOf":[{"minimum":1}],"allOf":[{"minimum":1}],"not":{"minimum":1}}`,
			`{"type":"integer"}`},
		{"null", `{"type":"object","required":["a","b"],"properties":{"a":{"type":"array","nullable":true,"items":{"type":"string"}},"b":{"type":"string"}}}`,
			`{"type":"object","required":["b"],"properties":{"a":{},"b":{"type":"string"}}}`},
		{"unknown fields", `{"type":"object","description":"Any.","x-kubernetes-preserve-unknown-fields":true,"properties":{"a":{"type":"string"}}}`,
			`{"description":"Any.","x-kubernetes-preserve-unknown-fields":true}`},
		{"unknown elements", `{"type":"array"}`, `{}`},
		{"number or string", `{"x-kubernetes-int-or-string":true,"anyOf":[{"type":"integer"},{"type":"string"}]}`, `{"x-kubernetes-int-or-string":true}`},
		{"inside", `{"type":"array","items":{"type":"object","additionalProperties":{"type":"string","nullable":true}}}`,
			`{"type":"array","items":{"type":"object","additionalProperties":{}}}`},
		{"reference", `{"description":"Its owner.","default":{},"allOf":[{"$ref":"#/components/schemas/a"}]}`,
			`{"description":"Its owner.","default":{},"$ref":"#/definitions/a"}`},
	} {
		in := &spec.Schema{}
		if err := json.Unmarshal([]byte(test.v3), in); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(schemaV2(in))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(decode(test.v2), decode(string(got))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		again, err := json.Marshal(in)
		if err != nil || !cmp.Equal(decode(test.v3), decode(string(again))) {
			t.Errorf("%s: the argument was changed: %v %s", test.name, err, again)
		}
	}
}
