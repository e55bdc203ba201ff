package openapi

import (
	"net/http"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/spec3"

	"revtail/encoding/codec"
	"revtail/gateway/api/schema"
	"revtail/gateway/resource"
)

// addPaths adds the paths of a resource.
func addPaths(paths map[string]*spec3.Path, gv *resource.GroupVersion, res *resource.Resource) {
	collection := "/" + gv.Path() + "/" + res.Plural
	scope := ""
	if res.Virtual {
		question := operations{res, scope, ""}
		addPath(paths, collection, spec3.PathProps{Post: question.create(), Patch: question.refusedPatch()})
		return
	}
	if res.Namespaced {
		addPath(paths, collection, spec3.PathProps{Get: operations{res, "", "ForAllNamespaces"}.list()})
		collection, scope = "/"+gv.Path()+"/namespaces/{namespace}/"+res.Plural, "Namespaced"
	}
	all := operations{res, scope, ""}
	if res.ReadOnly {
		addPath(paths, collection, spec3.PathProps{Get: all.list()})
		addPath(paths, collection+"/{name}", spec3.PathProps{Get: all.read()})
		return
	}
	addPath(paths, collection, spec3.PathProps{Get: all.list(), Post: all.create(), Delete: all.deleteCollection()})
	addPath(paths, collection+"/{name}", spec3.PathProps{Get: all.read(), Put: all.replace(), Patch: all.patch(), Delete: all.delete()})
	for _, sub := range res.Subresources() {
		part := operations{res, scope, strings.ToUpper(sub.Subresource[:1]) + sub.Subresource[1:]}
		addPath(paths, collection+"/{name}/"+sub.Subresource, spec3.PathProps{Get: part.read(), Put: part.replace(), Patch: part.patch()})
	}
}

// addPath adds a path, with the parameters that all its operations have.
func addPath(paths map[string]*spec3.Path, path string, props spec3.PathProps) {
	if strings.Contains(path, "{name}") {
		props.Parameters = append(props.Parameters, pathParameter("name", "the name of the object"))
	}
	if strings.Contains(path, "{namespace}") {
		props.Parameters = append(props.Parameters, pathParameter("namespace", "the namespace of the object"))
	}
	props.Parameters = slices.Concat(props.Parameters, prettyParameter, fieldsParameter)
	paths[path] = &spec3.Path{PathProps: props}
}

// operations are the operations of a resource or of a subresource.
type operations struct {
	resource *resource.Resource
	scope    string // "Namespaced" in the paths that have a namespace
	part     string // "Status", "Scale", "ForAllNamespaces" or empty
}

func (o operations) list() *spec3.Operation {
	op := o.operation("list", "list or watch objects of kind "+o.resource.Kind)
	op.Parameters = slices.Concat(selectParameters, watchParameters)
	op.Responses = responses(schema.ListName(o.resource), http.StatusOK)
	return op
}

func (o operations) create() *spec3.Operation {
	op := o.operation("post", "create "+o.object())
	op.Parameters = writeParameters
	op.RequestBody = requestBody(schema.KindName(o.resource), o.resource.BodyTypes()...)
	op.Responses = responses(schema.KindName(o.resource), http.StatusCreated)
	return op
}

func (o operations) deleteCollection() *spec3.Operation {
	op := o.operation("deletecollection", "delete the objects of kind "+o.resource.Kind+" that a list would show")
	op.Parameters = slices.Concat(selectParameters, deleteParameters)
	op.RequestBody = requestBody(schema.DeleteOptionsName, o.resource.BodyTypes()...)
	op.Responses = responses(schema.ListName(o.resource), http.StatusOK)
	return op
}

func (o operations) read() *spec3.Operation {
	op := o.operation("get", "read "+o.object())
	op.Responses = responses(schema.KindName(o.viewKind()), http.StatusOK)
	return op
}

func (o operations) replace() *spec3.Operation {
	op := o.operation("put", "replace "+o.object())
	op.Parameters = writeParameters
	op.RequestBody = requestBody(schema.KindName(o.viewKind()), o.viewKind().BodyTypes()...)
	codes := []int{http.StatusOK}
	if o.resource.CreateOnUpdate {
		codes = append(codes, http.StatusCreated)
	}
	op.Responses = responses(schema.KindName(o.viewKind()), codes...)
	return op
}

func (o operations) patch() *spec3.Operation {
	op := o.operation("patch", "change "+o.object())
	op.Parameters = slices.Concat(writeParameters, forceParameter)
	op.RequestBody = requestBody(schema.PatchName, o.viewKind().PatchTypes()...)
	codes := []int{http.StatusOK}
	if o.part == "" { // an applied configuration creates
		codes = append(codes, http.StatusCreated)
	}
	op.Responses = responses(schema.KindName(o.viewKind()), codes...)
	return op
}

// refusedPatch is an operation that is not allowed: kubectl reads in it, even before a create, whether a kind has fieldValidation.
func (o operations) refusedPatch() *spec3.Operation {
	op := o.operation("patch", "not allowed: objects of kind "+o.resource.Kind+" are answered and not stored")
	op.Parameters = writeParameters
	op.Responses = responses(schema.StatusName, http.StatusMethodNotAllowed)
	return op
}

func (o operations) delete() *spec3.Operation {
	op := o.operation("delete", "delete "+o.object())
	op.Parameters = deleteParameters
	op.RequestBody = requestBody(schema.DeleteOptionsName, o.resource.BodyTypes()...)
	op.Responses = responses(schema.StatusName, http.StatusOK)
	return op
}

// viewKind is the resource as which the operation shows an object.
func (o operations) viewKind() *resource.Resource {
	return resource.Ref{Resource: o.resource, Subresource: strings.ToLower(o.part)}.ViewKind()
}

// object names the object of an operation.
func (o operations) object() string {
	if o.part != "" {
		return "the " + strings.ToLower(o.part) + " of one " + o.resource.Kind
	}
	return "one " + o.resource.Kind
}

// operationVerbs are the first words of the identifiers of operations, by action.
var operationVerbs = map[string]string{
	"list": "list", "post": "create", "deletecollection": "deleteCollection", "get": "read", "put": "replace", "patch": "patch", "delete": "delete",
}

// operation is an operation with an identifier such as listCoreV1NamespacedPod, and with its action and kind, by which clients find
// it.
func (o operations) operation(action, description string) *spec3.Operation {
	group := "core"
	if o.resource.Group != "" {
		group = strings.TrimSuffix(o.resource.Group, ".k8s.io")
	}
	id := operationVerbs[action]
	for _, word := range append(strings.Split(group, "."), o.resource.Version) {
		id += strings.ToUpper(word[:1]) + word[1:]
	}
	op := &spec3.Operation{OperationProps: spec3.OperationProps{
		OperationId: id + o.scope + o.resource.Kind + o.part,
		Description: description,
		Deprecated:  o.resource.Deprecation != "",
	}}
	op.AddExtension("x-kubernetes-action", action)
	op.AddExtension(schema.KindExtension, schema.KindOf(o.viewKind(), o.viewKind().Kind))
	return op
}

func requestBody(schema string, mediaTypes ...string) *spec3.RequestBody {
	body := &spec3.RequestBody{RequestBodyProps: spec3.RequestBodyProps{Content: make(map[string]*spec3.MediaType)}}
	for _, mediaType := range mediaTypes {
		body.Content[mediaType] = mediaOf(schema)
	}
	return body
}

func responses(schema string, codes ...int) *spec3.Responses {
	out := &spec3.Responses{ResponsesProps: spec3.ResponsesProps{StatusCodeResponses: make(map[int]*spec3.Response)}}
	for _, code := range codes {
		out.StatusCodeResponses[code] = &spec3.Response{ResponseProps: spec3.ResponseProps{
			Description: http.StatusText(code),
			Content:     map[string]*spec3.MediaType{codec.JSON: mediaOf(schema)},
		}}
	}
	return out
}

func mediaOf(name string) *spec3.MediaType {
	return &spec3.MediaType{MediaTypeProps: spec3.MediaTypeProps{Schema: schema.Reference(name)}}
}
