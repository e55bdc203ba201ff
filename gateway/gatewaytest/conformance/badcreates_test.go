package conformance

import (
	"net/http"
	"strings"
)

var badCreates = []statement{
	{"malformed JSON is 400", badBody(`{bad json`)},
	{"an empty body is 400", badBody("")},
	{"an array is 400", badBody("[]")},
	{"a scalar is 400", badBody("7")},
	{"a body without kind is 400 for a custom resource, and one of the URL's kind for a built-in one", bodyWithoutKind},
	{"malformed YAML is 400", badYAML},
	{"another apiVersion is 400", wrongVersion},
	{"another kind is 422 or 400", wrongKind},
	{"a name that is not a DNS name is 422", badName},
	{"no name and no generateName are 422", noName},
	{"a label that is not one is 422", badLabel},
	{"a label that is not a string is 400", labelType},
	{"an annotation key that is not one is 422", badAnnotation},
	{"annotations of more than 256 KiB are 422", longAnnotations},
	{"another namespace than the URL's is 400", otherNamespace},
	{"a field of the wrong type is refused", wrongType},
	{"a resourceVersion is 400", createWithRevision},
	{"a Content-Type that is not served is 415", unknownContentType},
	{"protobuf for a custom resource is 415, not a broken connection", protobufBody},
	{"a body of more than 3 MiB is 413", hugeBody},
	{"an object too large for etcd is 413, a ConfigMap above 1 MiB 422, and nothing is stored", hugeObject},
	{"a refused create stores nothing", refusedStoresNothing},
}

func badBody(body string) func(*check) {
	return func(c *check) {
		c.simple().post(body, "", "Content-Type", "application/json").refused(http.StatusBadRequest, "BadRequest")
	}
}

func bodyWithoutKind(c *check) {
	w := c.simple()
	a := w.post(w.object("w-a", "red", nil).with("kind", nil).with("apiVersion", nil), "")
	if w.schema {
		a.refused(http.StatusBadRequest, "BadRequest")
		return
	}
	a.ok(http.StatusCreated)
}

func badYAML(c *check) {
	c.simple().post("kind: [\n  a: b: c\n", "", "Content-Type", "application/yaml").refused(http.StatusBadRequest, "BadRequest")
}

func wrongVersion(c *check) {
	w := c.simple()
	w.post(w.object("w-a", "red", nil).with("apiVersion", "example.org/v7"), "").refused(http.StatusBadRequest, "BadRequest").saying("example.org/v7")
}

func wrongKind(c *check) {
	w := c.simple()
	a := w.post(w.object("w-a", "red", nil).with("kind", "Gadget"), "")
	if a.code == http.StatusBadRequest {
		a.refused(http.StatusBadRequest, "BadRequest")
		return
	}
	a.refused(http.StatusUnprocessableEntity, "Invalid").cause("kind", "FieldValueInvalid")
}

// invalid requires that an object is refused for a field.
func (w collection) invalid(body object, field, kind string) {
	w.c.t.Helper()
	w.post(body, "").refused(http.StatusUnprocessableEntity, "Invalid").cause(field, kind)
}

func badName(c *check) {
	w := c.simple()
	for _, name := range []string{"Bad_Name", "-a", "a-", "a b", "ä", strings.Repeat("a", 254)} {
		w.invalid(w.object(name, "red", nil), "metadata.name", "FieldValueInvalid")
	}
}

func noName(c *check) {
	w := c.simple()
	w.invalid(w.object("", "red", nil).with("metadata.name", nil), "metadata.name", "FieldValueRequired")
}

func badLabel(c *check) {
	w := c.simple()
	for _, labels := range []object{{"l": "a b"}, {"l": strings.Repeat("a", 64)}, {"a b": "l"}, {"-": "l"}} {
		w.invalid(w.object("w-a", "red", labels), "metadata.labels", "FieldValueInvalid")
	}
}

func labelType(c *check) {
	w := c.simple()
	w.post(w.object("w-a", "red", object{"l": 7}), "").refused(http.StatusBadRequest, "BadRequest")
	w.post(w.object("w-a", "red", nil).with("metadata.labels", "a"), "").refused(http.StatusBadRequest, "BadRequest")
}

func badAnnotation(c *check) {
	w := c.simple()
	w.invalid(w.object("w-a", "red", nil).with("metadata.annotations", object{"a b": "x"}), "metadata.annotations", "FieldValueInvalid")
}

func longAnnotations(c *check) {
	w := c.simple()
	long := object{"a": strings.Repeat("x", 200_000), "b": strings.Repeat("x", 70_000)}
	w.invalid(w.object("w-a", "red", nil).with("metadata.annotations", long), "metadata.annotations", "FieldValueTooLong")
}

func otherNamespace(c *check) {
	w := c.simple()
	w.post(w.object("w-a", "red", nil).with("metadata.namespace", "elsewhere"), "").refused(http.StatusBadRequest, "BadRequest")
}

func wrongType(c *check) {
	w := c.simple()
	a := w.post(w.object("w-a", "red", nil).with(w.color, 7), "")
	if w.schema {
		a.refused(http.StatusUnprocessableEntity, "Invalid").cause(w.color, "FieldValueTypeInvalid")
	} else {
		a.refused(http.StatusBadRequest, "BadRequest")
	}
	w.absent("w-a")
}

func createWithRevision(c *check) {
	w := c.simple()
	w.post(w.object("w-a", "red", nil).with("metadata.resourceVersion", "7"), "").refused(http.StatusBadRequest, "BadRequest")
}

func unknownContentType(c *check) {
	w := c.simple()
	for _, kind := range []string{"text/plain", "application/cbor", "application/x-www-form-urlencoded", "nonsense"} {
		w.post(w.jsonOf("w-a"), "", "Content-Type", kind).refused(http.StatusUnsupportedMediaType, "UnsupportedMediaType")
	}
}

func protobufBody(c *check) {
	w := c.simple()
	if !w.schema {
		c.NotRun("built-in kinds may have a protobuf form")
	}
	w.post("k8s\x00\x0a\x00", "", "Content-Type", "application/vnd.kubernetes.protobuf").
		refused(http.StatusUnsupportedMediaType, "UnsupportedMediaType")
}

func hugeBody(c *check) {
	w := c.simple()
	body := `{"kind":"` + w.kind + `","x":"` + strings.Repeat("x", 3<<20) + `"}`
	w.post(body, "", "Content-Type", "application/json").refused(http.StatusRequestEntityTooLarge, "RequestEntityTooLarge")
}

func hugeObject(c *check) {
	w := c.simple()
	a := w.post(w.object("w-a", strings.Repeat("x", 5<<19), nil), "")
	if w.strategic {
		a.refused(http.StatusUnprocessableEntity, "Invalid")
	} else {
		a.refused(http.StatusRequestEntityTooLarge, "RequestEntityTooLarge")
	}
	w.absent("w-a")
}

func refusedStoresNothing(c *check) {
	w := c.simple()
	s := w.watchFrom()
	w.post(w.object("Bad_Name", "red", nil), "").refused(http.StatusUnprocessableEntity, "Invalid")
	w.post(w.object("w-a", "red", object{"l": "a b"}), "").refused(http.StatusUnprocessableEntity, "Invalid")
	w.post(`{"kind":"`+w.kind+`"`, "", "Content-Type", "application/json").refused(http.StatusBadRequest, "BadRequest")
	w.create("end", "red", nil)
	c.equal("events", tell(s.until("end")), "")
}
