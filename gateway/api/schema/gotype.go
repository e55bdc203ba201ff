package schema

import (
	_ "embed"
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// The methods by which the types of Kubernetes describe themselves.
type (
	modelNamer      interface{ OpenAPIModelName() string }
	swaggerDocer    interface{ SwaggerDoc() map[string]string }
	schemaTyper     interface{ OpenAPISchemaType() []string }
	schemaFormatter interface{ OpenAPISchemaFormat() string }
	oneOfTyper      interface{ OpenAPIV3OneOfTypes() []string }
)

// use returns the schema of a value of type t: for a type with a model name, it adds the schema and returns a reference.
func (set Set) use(t reflect.Type) *spec.Schema {
	if t.Kind() == reflect.Pointer {
		return set.use(t.Elem())
	}
	namer, ok := reflect.Zero(t).Interface().(modelNamer)
	if !ok {
		return set.define(t)
	}
	set.add(namer.OpenAPIModelName(), t)
	return Reference(namer.OpenAPIModelName())
}

// add adds the schema of a type under a name.
func (set Set) add(name string, t reflect.Type) {
	if _, ok := set[name]; !ok {
		set[name] = nil // for types that contain themselves
		set[name] = set.define(t)
		addMergeRules(set[name], name)
	}
}

// define returns the schema of a type, with or without a name.
func (set Set) define(t reflect.Type) *spec.Schema {
	if typer, ok := reflect.Zero(t).Interface().(schemaTyper); ok {
		return ownSchema(typer)
	}
	switch t.Kind() {
	case reflect.Struct:
		return set.object(t, swaggerDoc(t)[""])
	case reflect.Map:
		return spec.MapProperty(set.use(t.Elem()))
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return Scalar("string", "byte")
		}
		return spec.ArrayProperty(set.use(t.Elem()))
	case reflect.String:
		return Scalar("string", "")
	case reflect.Bool:
		return Scalar("boolean", "")
	case reflect.Int64:
		return Scalar("integer", "int64")
	case reflect.Int, reflect.Int32:
		return Scalar("integer", "int32")
	case reflect.Float64:
		return Scalar("number", "double")
	}
	return &spec.Schema{} // anything
}

// Scalar returns the schema of a scalar.
func Scalar(kind, format string) *spec.Schema {
	return &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{kind}, Format: format}}
}

// ownSchema returns the schema of a type that encodes its JSON itself: a time, a quantity, a number or a string.
func ownSchema(typer schemaTyper) *spec.Schema {
	s := &spec.Schema{SchemaProps: spec.SchemaProps{Type: typer.OpenAPISchemaType()}}
	if formatter, ok := typer.(schemaFormatter); ok {
		s.Format = formatter.OpenAPISchemaFormat()
	}
	if oneOf, ok := typer.(oneOfTyper); ok {
		s.Type = nil
		for _, kind := range oneOf.OpenAPIV3OneOfTypes() {
			s.OneOf = append(s.OneOf, *Scalar(kind, ""))
		}
	}
	return s
}

// object returns the schema of a struct.
func (set Set) object(t reflect.Type, description string) *spec.Schema {
	s := &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}, Description: description}}
	set.addFields(s, t)
	return s
}

// addFields adds the fields of a struct, and those of embedded structs.
func (set Set) addFields(s *spec.Schema, t reflect.Type) {
	descriptions := swaggerDoc(t)
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "" && field.Anonymous:
			set.addFields(s, field.Type)
			continue
		case name == "" || name == "-":
			continue
		}
		property := withDescription(set.use(field.Type), descriptions[name])
		addMergeTags(property, field.Tag)
		s.SetProperty(name, *property)
		if required(field.Type, options) {
			s.Required = append(s.Required, name)
		}
	}
}

// required reports whether an object must have a field: its JSON always has it, and it is no pointer to a scalar, which may be null.
func required(t reflect.Type, jsonOptions string) bool {
	if strings.Contains(jsonOptions, "omitempty") || strings.Contains(jsonOptions, "omitzero") {
		return false
	}
	return t.Kind() != reflect.Pointer || t.Elem().Kind() == reflect.Struct
}

// withDescription gives a schema a description. A reference cannot have one in OpenAPI 3.0, so it goes into an allOf.
func withDescription(s *spec.Schema, description string) *spec.Schema {
	if description != "" && s.Ref.String() != "" {
		s = &spec.Schema{SchemaProps: spec.SchemaProps{AllOf: []spec.Schema{*s}}}
	}
	s.Description = description
	return s
}

func swaggerDoc(t reflect.Type) map[string]string {
	if docer, ok := reflect.Zero(t).Interface().(swaggerDocer); ok {
		return docer.SwaggerDoc()
	}
	switch t.PkgPath() {
	case reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]().PkgPath():
		return definitionDocs()[t.Name()]
	case reflect.TypeFor[apiregistrationv1.APIService]().PkgPath():
		return apiServiceDocs()[t.Name()]
	}
	return nil
}

// The descriptions of the types that have no SwaggerDoc.
var (
	//go:embed docs.json
	definitionDocsJSON []byte
	//go:embed apiservice_docs.json
	apiServiceDocsJSON []byte // those of Kubernetes

	definitionDocs = sync.OnceValue(func() docs { return parseDocs(definitionDocsJSON) })
	apiServiceDocs = sync.OnceValue(func() docs { return parseDocs(apiServiceDocsJSON) })
)

// docs are descriptions by type and field, with that of the type itself under the empty name.
type docs = map[string]map[string]string

func parseDocs(text []byte) (parsed docs) {
	if err := json.Unmarshal(text, &parsed); err != nil {
		panic("schema: descriptions of types: " + err.Error())
	}
	return parsed
}
