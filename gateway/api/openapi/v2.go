package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	openapiv2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"revtail/gateway/api/schema"
	"revtail/gateway/http/response"
	"revtail/gateway/resource"
)

// v2 is the OpenAPI v2 document of all resources in two encodings, for clients without v3, such as kubectl before 1.27.
type v2 struct {
	JSON, Protobuf func() response.Document
}

// ProtobufV2 is the media type of the protobuf encoding. Old clients write it with an "@", which is invalid in a media type.
const ProtobufV2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

func newV2(groups []*resource.Group, version string) v2 {
	return v2{
		JSON: sync.OnceValue(func() response.Document { return response.NewDocument(response.JSON, swaggerOf(groups, version)) }),
		Protobuf: sync.OnceValue(func() response.Document {
			return response.DocumentOf(ProtobufV2, inProtobufV2(swaggerOf(groups, version)))
		}),
	}
}

// inProtobufV2 encodes a document in protobuf. The libraries convert only its JSON.
func inProtobufV2(swagger *spec.Swagger) []byte {
	text, err := json.Marshal(swagger)
	var document *openapiv2.Document
	if err == nil {
		document, err = openapiv2.ParseDocument(text)
	}
	var out []byte
	if err == nil {
		out, err = proto.MarshalOptions{Deterministic: true}.Marshal(document)
	}
	if err != nil { // schemaV2 leaves only what OpenAPI v2 has
		panic(fmt.Sprintf("openapi: the OpenAPI v2 document cannot be rendered: %v", err))
	}
	return out
}

// swaggerOf converts the OpenAPI v3 documents of groups to one document of v2, without the parts that v2 or its clients cannot read.
func swaggerOf(groups []*resource.Group, version string) *spec.Swagger {
	out := &spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger: "2.0", Definitions: make(spec.Definitions), Paths: &spec.Paths{Paths: make(map[string]spec.PathItem)}}}
	for _, group := range groups {
		for _, gv := range group.Versions {
			document := openAPIDocument(gv, version)
			out.Info = document.Info
			for path, item := range document.Paths.Paths {
				out.Paths.Paths[path] = pathV2(item)
			}
			for name, s := range document.Components.Schemas {
				if _, ok := out.Definitions[name]; !ok { // most documents have the schemas of metadata
					out.Definitions[name] = definitionV2(s)
				}
			}
		}
	}
	return out
}

// definitionV2 converts a named schema. Clients need the type object for a kind, even if its fields are unknown: then, as in
// kube-apiserver, it is all that they get.
func definitionV2(s *spec.Schema) spec.Schema {
	out := schemaV2(s)
	kind, ok := s.Extensions[schema.KindExtension]
	switch {
	case !ok:
	case keepsUnknown(s):
		out = spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
		out.AddExtension(schema.KindExtension, kind)
	case len(out.Type) == 0:
		out.Type = []string{"object"}
	}
	return out
}

// keepsUnknown reports whether a value may have unknown fields.
func keepsUnknown(s *spec.Schema) bool {
	unknown, _ := s.Extensions.GetBool("x-kubernetes-preserve-unknown-fields")
	return unknown
}

// schemaV2 converts a schema. A value that may be null, or have unknown fields, has no type, because kubectl refuses such a value
// otherwise.
func schemaV2(s *spec.Schema) spec.Schema {
	if len(s.AllOf) == 1 && s.AllOf[0].Ref.String() != "" { // only v3 forbids a description beside a reference
		out := schemaV2(&s.AllOf[0])
		out.Description, out.Default, out.Extensions = s.Description, s.Default, s.Extensions
		return out
	}
	p := s.SchemaProps
	if name, ok := strings.CutPrefix(p.Ref.String(), "#/components/schemas/"); ok {
		p.Ref = spec.MustCreateRef("#/definitions/" + name)
	}
	if len(p.OneOf) > 0 && len(p.Type) == 0 {
		p.Type = []string{"string"} // a number or a string: v2 has no oneOf
	}
	if p.Nullable || keepsUnknown(s) || p.Type.Contains("array") && p.Items == nil {
		p.Type, p.Items, p.Properties, p.AdditionalProperties, p.Required = nil, nil, nil, nil, nil
	}
	p.Nullable, p.AllOf, p.OneOf, p.AnyOf, p.Not = false, nil, nil, nil, nil
	p.Required = slices.DeleteFunc(slices.Clone(p.Required), func(name string) bool { return p.Properties[name].Nullable })
	convertInner(&p)
	return spec.Schema{VendorExtensible: s.VendorExtensible, SchemaProps: p}
}

// convertInner replaces the schemas inside a schema by converted ones.
func convertInner(p *spec.SchemaProps) {
	if p.Items != nil && p.Items.Schema != nil {
		items := schemaV2(p.Items.Schema)
		p.Items = &spec.SchemaOrArray{Schema: &items}
	}
	if p.AdditionalProperties != nil && p.AdditionalProperties.Schema != nil {
		values := schemaV2(p.AdditionalProperties.Schema)
		p.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: &values}
	}
	if p.Properties != nil {
		properties := make(map[string]spec.Schema, len(p.Properties))
		for name, property := range p.Properties {
			properties[name] = schemaV2(&property)
		}
		p.Properties = properties
	}
}

func pathV2(path *spec3.Path) spec.PathItem {
	return spec.PathItem{PathItemProps: spec.PathItemProps{
		Get: operationV2(path.Get), Put: operationV2(path.Put), Post: operationV2(path.Post), Patch: operationV2(path.Patch),
		Delete: operationV2(path.Delete), Parameters: parametersV2(path.Parameters),
	}}
}

// operationV2 converts an operation: in v2 the body is a parameter, and media types are listed apart from bodies.
func operationV2(o *spec3.Operation) *spec.Operation {
	if o == nil {
		return nil
	}
	out := &spec.Operation{VendorExtensible: o.VendorExtensible, OperationProps: spec.OperationProps{
		ID: o.OperationId, Description: o.Description, Deprecated: o.Deprecated, Parameters: parametersV2(o.Parameters),
		Responses: &spec.Responses{ResponsesProps: spec.ResponsesProps{StatusCodeResponses: make(map[int]spec.Response)}},
	}}
	if o.RequestBody != nil {
		body := spec.Parameter{ParamProps: spec.ParamProps{Name: "body", In: "body", Required: true}}
		out.Consumes, body.Schema = contentV2(o.RequestBody.Content)
		out.Parameters = append(out.Parameters, body)
	}
	for code, response := range o.Responses.StatusCodeResponses {
		answer := spec.Response{ResponseProps: spec.ResponseProps{Description: response.Description}}
		out.Produces, answer.Schema = contentV2(response.Content)
		out.Responses.StatusCodeResponses[code] = answer
	}
	return out
}

// contentV2 returns the media types of a body, and the schema that they share.
func contentV2(content map[string]*spec3.MediaType) (mediaTypes []string, schema *spec.Schema) {
	mediaTypes = slices.Sorted(maps.Keys(content))
	if len(mediaTypes) > 0 {
		converted := schemaV2(content[mediaTypes[0]].Schema)
		schema = &converted
	}
	return mediaTypes, schema
}

func parametersV2(parameters []*spec3.Parameter) []spec.Parameter {
	out := make([]spec.Parameter, len(parameters))
	for i, p := range parameters {
		out[i] = spec.Parameter{
			ParamProps:        spec.ParamProps{Name: p.Name, In: p.In, Description: p.Description, Required: p.Required},
			SimpleSchema:      spec.SimpleSchema{Type: p.Schema.Type[0]},
			CommonValidations: spec.CommonValidations{UniqueItems: p.Schema.UniqueItems},
		}
	}
	return out
}
