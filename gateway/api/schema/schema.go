package schema

import (
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"revtail/gateway/resource"
)

// Set has the schemas of one OpenAPI document, by name. Those of Go types are made by reflection: fields from JSON tags, descriptions from
// SwaggerDoc, names from OpenAPIModelName.
type Set map[string]*spec.Schema

// AddResource adds the schemas of a resource's kind and its list.
func (set Set) AddResource(res *resource.Resource) {
	name := set.addKind(res)
	for _, sub := range res.Subresources() {
		if sub.ViewKind() != res {
			set.addKind(sub.ViewKind())
		}
	}
	if res.Virtual && !res.ReadOnly {
		return
	}
	list := set.object(reflect.TypeFor[metav1.TypeMeta](), res.ListKind()+" is a list of "+res.Kind+".")
	list.SetProperty("metadata", *set.use(reflect.TypeFor[metav1.ListMeta]()))
	list.SetProperty("items", *spec.ArrayProperty(Reference(name)))
	list.Required = []string{"items"}
	list.AddExtension(KindExtension, []any{KindOf(res, res.ListKind())})
	if fields, ok := set[name].Extensions[selectableExtension]; ok {
		list.AddExtension(selectableExtension, fields)
	}
	set[ListName(res)] = list
}

// addKind adds the schema of a resource's kind, and returns its name.
func (set Set) addKind(res *resource.Resource) string {
	name := KindName(res)
	if res.GoType != nil {
		set.add(name, reflect.TypeOf(res.GoType))
	} else {
		set[name] = set.customKind(res)
	}
	set[name].AddExtension(KindExtension, []any{KindOf(res, res.Kind)})
	return name
}

// AddCommon adds the schemas of the operations of all resources.
func (set Set) AddCommon() {
	set.use(reflect.TypeFor[metav1.Status]())
	set.use(reflect.TypeFor[metav1.DeleteOptions]())
	set.use(reflect.TypeFor[metav1.Patch]())
}

// The names of the schemas that AddCommon adds.
var (
	StatusName        = metav1.Status{}.OpenAPIModelName()
	DeleteOptionsName = metav1.DeleteOptions{}.OpenAPIModelName()
	PatchName         = metav1.Patch{}.OpenAPIModelName()
)

// customKind returns the schema of a custom resource or a mount, with apiVersion, kind and metadata.
func (set Set) customKind(res *resource.Resource) *spec.Schema {
	s := res.Schema.OpenAPI()
	set.addFields(s, reflect.TypeFor[metav1.TypeMeta]())
	metadata := set.use(reflect.TypeFor[metav1.ObjectMeta]())
	s.SetProperty("metadata", *withDescription(metadata, metav1.PartialObjectMetadata{}.SwaggerDoc()["metadata"]))
	return s
}

// selectableExtension has the selectable fields of a definition, in the schemas of its resource and of the list.
const selectableExtension = "x-kubernetes-selectable-fields"

// KindExtension has the kind of a schema or an operation.
const KindExtension = "x-kubernetes-group-version-kind"

// KindOf returns the value of KindExtension for a kind of a resource's group and version.
func KindOf(res *resource.Resource, kind string) map[string]any {
	return map[string]any{"group": res.Group, "version": res.Version, "kind": kind}
}

// KindName returns the name of the schema of a resource's kind: "io.k8s.api.core.v1.Pod", "com.example.v1.Widget".
func KindName(res *resource.Resource) string {
	if namer, ok := res.GoType.(modelNamer); ok {
		return namer.OpenAPIModelName()
	}
	labels := strings.Split(res.Group, ".")
	slices.Reverse(labels)
	return strings.Join(append(labels, res.Version, res.Kind), ".")
}

// ListName returns the name of the schema of a list of a resource's kind.
func ListName(res *resource.Resource) string { return KindName(res) + "List" }

// Reference returns a schema that refers to a named one.
func Reference(name string) *spec.Schema { return spec.RefSchema("#/components/schemas/" + name) }
