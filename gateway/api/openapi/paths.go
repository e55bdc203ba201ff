package openapi

import (
	"net/http"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/spec3"

	"revtail/gateway/api/schema"
	"revtail/gateway/resource"
)

// addPaths adds the paths of a resource.
func addPaths(paths map[string]*spec3.Path, gv *resource.GroupVersion, res *resource.Resource) {
	collection, scope := "/"+gv.Path()+"/"+res.Plural, ""
	if res.Virtual && !res.ReadOnly {
		if res.Namespaced {
			collection, scope = "/"+gv.Path()+"/namespaces/{namespace}/"+res.Plural, "Namespaced"
		}
		review := operations{res, scope, ""}
		addPath(paths, collection, spec3.PathProps{Post: review.create(), Patch: review.refusedPatch()})
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
		props := spec3.PathProps{}
		switch {
		case sub.ViewKind().Virtual:
			props.Post = part.create()
		case sub.Subresource == resource.FinalizeSubresource:
			props.Put = part.replace()
		default:
			props.Get, props.Put, props.Patch = part.read(), part.replace(), part.patch()
		}
		addPath(paths, collection+"/{name}/"+sub.Subresource, props)
	}
}

// addPath adds a path with the parameters of all its operations.
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
	op := o.operation("list", "list or watch objects of kind "+o.resource.Kind, slices.Concat(selectParameters, watchParameters))
	return respond(op, schema.ListName(o.resource), o.resource.ListTypes(), http.StatusOK)
}

func (o operations) create() *spec3.Operation {
	op := o.operation("post", "create "+o.object(), writeParameters)
	op.RequestBody = requestBody(schema.KindName(o.viewKind()), o.viewKind().BodyTypes())
	return respond(op, schema.KindName(o.viewKind()), o.viewKind().AnswerTypes(), http.StatusCreated)
}

func (o operations) deleteCollection() *spec3.Operation {
	op := o.operation("deletecollection", "delete the objects of kind "+o.resource.Kind+" that a list would show", slices.Concat(selectParameters, deleteParameters))
	op.RequestBody = requestBody(schema.DeleteOptionsName, o.resource.BodyTypes())
	return respond(op, schema.ListName(o.resource), o.resource.AnswerTypes(), http.StatusOK)
}

func (o operations) read() *spec3.Operation {
	return respond(o.operation("get", "read "+o.object(), nil), schema.KindName(o.viewKind()), o.viewKind().AnswerTypes(), http.StatusOK)
}

func (o operations) replace() *spec3.Operation {
	op := o.operation("put", "replace "+o.object(), writeParameters)
	op.RequestBody = requestBody(schema.KindName(o.viewKind()), o.viewKind().BodyTypes())
	return respond(op, schema.KindName(o.viewKind()), o.viewKind().AnswerTypes(), createdOrOK(o.resource.CreateOnUpdate)...)
}

func (o operations) patch() *spec3.Operation {
	op := o.operation("patch", "change "+o.object(), slices.Concat(writeParameters, forceParameter))
	op.RequestBody = requestBody(schema.PatchName, o.viewKind().PatchTypes())
	return respond(op, schema.KindName(o.viewKind()), o.viewKind().AnswerTypes(), createdOrOK(o.part == "")...) // an applied configuration creates
}

// refusedPatch returns an operation that is not allowed. From it kubectl learns, even before a create, that a kind has fieldValidation.
func (o operations) refusedPatch() *spec3.Operation {
	op := o.operation("patch", "not allowed: objects of kind "+o.resource.Kind+" are answered and not stored", writeParameters)
	return respond(op, schema.StatusName, o.resource.AnswerTypes(), http.StatusMethodNotAllowed)
}

func (o operations) delete() *spec3.Operation {
	op := o.operation("delete", "delete "+o.object(), deleteParameters)
	op.RequestBody = requestBody(schema.DeleteOptionsName, o.resource.BodyTypes())
	answer := schema.StatusName
	if o.resource.ReturnsDeleted {
		answer = schema.KindName(o.resource)
	}
	return respond(op, answer, o.resource.AnswerTypes(), http.StatusOK)
}

// createdOrOK returns the status codes of an operation that may create an object.
func createdOrOK(creates bool) []int {
	if creates {
		return []int{http.StatusOK, http.StatusCreated}
	}
	return []int{http.StatusOK}
}

// viewKind returns the resource of the operation's representation.
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

// operation returns an operation with an identifier such as listCoreV1NamespacedPod, and with its action and kind, by which clients find
// it.
func (o operations) operation(action, description string, parameters []*spec3.Parameter) *spec3.Operation {
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
		Parameters:  parameters,
		Deprecated:  o.resource.Deprecation != "",
	}}
	op.AddExtension("x-kubernetes-action", action)
	op.AddExtension(schema.KindExtension, schema.KindOf(o.viewKind(), o.viewKind().Kind))
	return op
}

func requestBody(schema string, mediaTypes []string) *spec3.RequestBody {
	return &spec3.RequestBody{RequestBodyProps: spec3.RequestBodyProps{Content: contentOf(schema, mediaTypes)}}
}

func contentOf(schema string, mediaTypes []string) map[string]*spec3.MediaType {
	content := make(map[string]*spec3.MediaType, len(mediaTypes))
	for _, mediaType := range mediaTypes {
		content[mediaType] = mediaOf(schema)
	}
	return content
}

// respond adds responses with a schema and media types to an operation.
func respond(op *spec3.Operation, schema string, mediaTypes []string, codes ...int) *spec3.Operation {
	out := &spec3.Responses{ResponsesProps: spec3.ResponsesProps{StatusCodeResponses: make(map[int]*spec3.Response)}}
	content := contentOf(schema, mediaTypes)
	for _, code := range codes {
		out.StatusCodeResponses[code] = &spec3.Response{ResponseProps: spec3.ResponseProps{Description: http.StatusText(code), Content: content}}
	}
	op.Responses = out
	return op
}

func mediaOf(name string) *spec3.MediaType {
	return &spec3.MediaType{MediaTypeProps: spec3.MediaTypeProps{Schema: schema.Reference(name)}}
}

// The query parameters of operations.
var (
	fieldsParameter = []*spec3.Parameter{
		queryParameter("fields", "string", "What of objects the answer has: paths such as spec.replicas,spec.containers[*].image. "+
			"What says which object it is stays: apiVersion, kind, metadata.name, metadata.namespace and metadata.resourceVersion."),
	}
	prettyParameter = []*spec3.Parameter{
		queryParameter("pretty", "boolean", "Whether the answer is indented for people to read."),
	}
	selectParameters = []*spec3.Parameter{
		queryParameter("labelSelector", "string", "Only objects with these labels, such as app=web,tier!=cache."),
		queryParameter("fieldSelector", "string", "Only objects with these fields, such as metadata.name=web."),
		queryParameter("filter", "string", "Only objects for which this expression in CEL is true, such as object.spec.replicas > 3. With old or type, which are the "+
			"state before and the type of an event, it chooses events of a watch."),
		queryParameter("limit", "integer", "How many objects one answer holds at most. The rest follows with continue."),
		queryParameter("continue", "string", "What metadata.continue of the page before said: go on from there, in the same state of the list."),
		queryParameter("resourceVersion", "string", "The state to list, or the one after which to watch. Not given: the latest."),
		queryParameter("resourceVersionMatch", "string", "How resourceVersion counts for a list: Exact or NotOlderThan."),
		queryParameter("timeoutSeconds", "integer", "When the request ends, whatever happens."),
	}
	watchParameters = []*spec3.Parameter{
		queryParameter("watch", "boolean", "Send the changes as they happen, one event a line, instead of a list."),
		queryParameter("allowWatchBookmarks", "boolean", "Send from time to time, in a watch, the resourceVersion up to which it is complete."),
		queryParameter("sendInitialEvents", "boolean", "Begin a watch with the state, as ADDED events and a bookmark that ends them."),
	}
	writeParameters = []*spec3.Parameter{
		queryParameter("dryRun", "string", "With the value All: check everything and answer as if it had been done, but do not write."),
		queryParameter("fieldManager", "string", "Who makes the change."),
		queryParameter("fieldValidation", "string", "What to do about unknown and duplicate fields: Ignore, Warn (the default) or Strict, which refuses them."),
	}
	forceParameter = []*spec3.Parameter{
		queryParameter("force", "boolean", "For apply patches: take over the fields that others manage."),
	}
	deleteParameters = []*spec3.Parameter{
		queryParameter("dryRun", "string", "With the value All: check everything and answer as if it had been done, but do not delete."),
		queryParameter("gracePeriodSeconds", "integer", "How long the object may take to end."),
		queryParameter("orphanDependents", "boolean", "Deprecated, use propagationPolicy: whether the objects that this one owns stay."),
		queryParameter("propagationPolicy", "string", "What becomes of the objects that this one owns: Orphan, Background or Foreground."),
	}
)

func queryParameter(name, kind, description string) *spec3.Parameter {
	return &spec3.Parameter{ParameterProps: spec3.ParameterProps{Name: name, In: "query", Description: description, Schema: schema.Scalar(kind, "")}}
}

func pathParameter(name, description string) *spec3.Parameter {
	return &spec3.Parameter{ParameterProps: spec3.ParameterProps{
		Name: name, In: "path", Description: description, Required: true, Schema: schema.Scalar("string", ""),
	}}
}
