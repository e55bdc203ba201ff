package gateway

import (
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"revtail/gateway/resource"
)

// schemaSet is the named schemas of one OpenAPI document. Those of Go types are read from the types: the fields from their
// JSON tags, the descriptions from SwaggerDoc, the names from OpenAPIModelName, which the types of Kubernetes have.
type schemaSet map[string]*spec.Schema

// The methods by which the types of Kubernetes tell what the reflect package cannot know.
type (
	modelNamer      interface{ OpenAPIModelName() string }
	swaggerDocer    interface{ SwaggerDoc() map[string]string }
	schemaTyper     interface{ OpenAPISchemaType() []string }
	schemaFormatter interface{ OpenAPISchemaFormat() string }
	oneOfTyper      interface{ OpenAPIV3OneOfTypes() []string }
)

// addResource adds the schemas of a resource's kind and, if there is one, of its list.
func (set schemaSet) addResource(res *resource.Resource) {
	name := set.addKind(res)
	if res.Scale != nil {
		set.addKind(scaleKind)
	}
	if res.Virtual {
		return
	}
	list := set.object(reflect.TypeFor[metav1.TypeMeta](), res.ListKind()+" is a list of "+res.Kind+".")
	list.SetProperty("metadata", *set.use(reflect.TypeFor[metav1.ListMeta]()))
	list.SetProperty("items", *spec.ArrayProperty(reference(name)))
	list.Required = []string{"items"}
	list.AddExtension(kindExtension, []any{kindOf(res, res.ListKind())})
	if fields, ok := set[name].Extensions[selectableExtension]; ok {
		list.AddExtension(selectableExtension, fields)
	}
	set[listSchema(res)] = list
}

// addKind adds the schema of a resource's kind, and returns its name.
func (set schemaSet) addKind(res *resource.Resource) string {
	name := kindSchema(res)
	if res.GoType != nil {
		set.add(name, reflect.TypeOf(res.GoType))
	} else {
		set[name] = set.customKind(res)
	}
	set[name].AddExtension(kindExtension, []any{kindOf(res, res.Kind)})
	return name
}

// addCommon adds the schemas that the operations of every resource have.
func (set schemaSet) addCommon() {
	set.use(reflect.TypeFor[metav1.Status]())
	set.use(reflect.TypeFor[metav1.DeleteOptions]())
	set.use(reflect.TypeFor[metav1.Patch]())
}

// The names of those schemas.
var (
	statusSchema        = metav1.Status{}.OpenAPIModelName()
	deleteOptionsSchema = metav1.DeleteOptions{}.OpenAPIModelName()
	patchSchema         = metav1.Patch{}.OpenAPIModelName()
)

// customKind is the schema that the definition of a custom resource has, with what all kinds have.
func (set schemaSet) customKind(res *resource.Resource) *spec.Schema {
	s := res.Schema.OpenAPI()
	set.addFields(s, reflect.TypeFor[metav1.TypeMeta]())
	metadata := set.use(reflect.TypeFor[metav1.ObjectMeta]())
	s.SetProperty("metadata", *withDescription(metadata, "What every object has: its name, its labels and more."))
	return s
}

// selectableExtension names, in the schemas of a custom resource and of its list, the fields that its definition calls
// selectable.
const selectableExtension = "x-kubernetes-selectable-fields"

// kindExtension marks schemas and operations with the kind that they are about.
const kindExtension = "x-kubernetes-group-version-kind"

func kindOf(res *resource.Resource, kind string) map[string]any {
	return map[string]any{"group": res.Group, "version": res.Version, "kind": kind}
}

// kindSchema is the name of the schema of a resource's kind: "io.k8s.api.core.v1.Pod", "com.example.v1.Widget".
func kindSchema(res *resource.Resource) string {
	if namer, ok := res.GoType.(modelNamer); ok {
		return namer.OpenAPIModelName()
	}
	labels := strings.Split(res.Group, ".")
	slices.Reverse(labels)
	return strings.Join(append(labels, res.Version, res.Kind), ".")
}

func listSchema(res *resource.Resource) string { return kindSchema(res) + "List" }

func reference(name string) *spec.Schema { return spec.RefSchema("#/components/schemas/" + name) }

// use returns the schema of a value of type t: for a type with a name, a reference to the schema that it adds.
func (set schemaSet) use(t reflect.Type) *spec.Schema {
	if t.Kind() == reflect.Pointer {
		return set.use(t.Elem())
	}
	namer, ok := reflect.Zero(t).Interface().(modelNamer)
	if !ok {
		return set.define(t)
	}
	set.add(namer.OpenAPIModelName(), t)
	return reference(namer.OpenAPIModelName())
}

// add adds the schema of a type under a name.
func (set schemaSet) add(name string, t reflect.Type) {
	if _, ok := set[name]; !ok {
		set[name] = nil // where a type contains itself, it is found here
		set[name] = set.define(t)
		addMerging(set[name], name)
	}
}

// define makes the schema of a type, whether it has a name or not.
func (set schemaSet) define(t reflect.Type) *spec.Schema {
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
			return scalar("string", "byte")
		}
		return spec.ArrayProperty(set.use(t.Elem()))
	case reflect.String:
		return scalar("string", "")
	case reflect.Bool:
		return scalar("boolean", "")
	case reflect.Int64:
		return scalar("integer", "int64")
	case reflect.Int, reflect.Int32:
		return scalar("integer", "int32")
	case reflect.Float64:
		return scalar("number", "double")
	}
	return &spec.Schema{} // anything
}

func scalar(kind, format string) *spec.Schema {
	return &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{kind}, Format: format}}
}

// ownSchema is the schema of a type that writes its JSON itself: a time, a quantity, a number or a string.
func ownSchema(typer schemaTyper) *spec.Schema {
	s := &spec.Schema{SchemaProps: spec.SchemaProps{Type: typer.OpenAPISchemaType()}}
	if formatter, ok := typer.(schemaFormatter); ok {
		s.Format = formatter.OpenAPISchemaFormat()
	}
	if oneOf, ok := typer.(oneOfTyper); ok {
		s.Type = nil
		for _, kind := range oneOf.OpenAPIV3OneOfTypes() {
			s.OneOf = append(s.OneOf, *scalar(kind, ""))
		}
	}
	return s
}

// object makes the schema of a struct.
func (set schemaSet) object(t reflect.Type, description string) *spec.Schema {
	s := &spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}, Description: description}}
	set.addFields(s, t)
	return s
}

// addFields adds the fields of a struct, and those of the structs that its JSON has in the same object.
func (set schemaSet) addFields(s *spec.Schema, t reflect.Type) {
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

// required tells whether an object must have a field. The types say so by always writing it; only that a pointer to a scalar
// is written as null when it is not there.
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
	return definitionDocs[t]
}
