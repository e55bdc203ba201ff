package conformance

import (
	"net/http"
)

// collection is a fixture in a namespace, for one check.
type collection struct {
	c *check
	fixture
	ns string
}

func (w collection) path(query string) string       { return w.collection(w.ns) + query }
func (w collection) named(name, more string) string { return w.collection(w.ns) + "/" + name + more }

// object returns a valid body.
func (w collection) object(name, color string, labels object) object {
	metadata := object{"name": name}
	if labels != nil {
		metadata["labels"] = labels
	}
	return w.body().with("apiVersion", w.apiVersion()).with("kind", w.kind).with(w.color, color).with("metadata", metadata)
}

// post creates an object, with query parameters and headers.
func (w collection) post(body any, query string, header ...string) answer {
	w.c.t.Helper()
	return w.c.do(http.MethodPost, w.path(query), body, header...)
}

// create creates an object, which must succeed.
func (w collection) create(name, color string, labels object) object {
	w.c.t.Helper()
	return w.post(w.object(name, color, labels), "").ok(http.StatusCreated)
}

// five creates the objects that most statements about lists use.
func (w collection) five() {
	w.c.t.Helper()
	w.create("w-a", "red", object{"l": "a"})
	w.create("w-b", "blue", object{"l": "b"})
	w.create("w-c", "red", object{"l": "a"})
	w.create("w-d", "green", object{"l": "b"})
	w.create("w-e", "red", nil)
}

// list lists, which must succeed.
func (w collection) list(query string) object {
	w.c.t.Helper()
	return w.c.get(w.path(query)).ok(http.StatusOK)
}

// read gets an object, which must exist.
func (w collection) read(name string) object {
	w.c.t.Helper()
	return w.c.get(w.named(name, "")).ok(http.StatusOK)
}

// put replaces an object.
func (w collection) put(body object, query string) answer {
	w.c.t.Helper()
	return w.c.do(http.MethodPut, w.named(body.name(), query), body)
}

const (
	mergePatch     = "application/merge-patch+json"
	jsonPatch      = "application/json-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
	applyPatch     = "application/apply-patch+yaml"
)

// patch patches an object; what is its name, which a query may follow.
func (w collection) patch(what, mediaType string, body any) answer {
	w.c.t.Helper()
	return w.c.do(http.MethodPatch, w.named(what, ""), body, "Content-Type", mediaType)
}

// merge sends a merge patch that must succeed.
func (w collection) merge(name string, body object) object {
	w.c.t.Helper()
	return w.patch(name, mergePatch, body).ok(http.StatusOK)
}

// paint changes the color.
func (w collection) paint(name, color string) object {
	w.c.t.Helper()
	return w.merge(name, nest(w.color, color))
}

// label changes the label l.
func (w collection) label(name, value string) object {
	w.c.t.Helper()
	return w.merge(name, nest("metadata.labels.l", value))
}

// remove deletes an object, with DeleteOptions that may be nil.
func (w collection) remove(name, query string, options any) answer {
	w.c.t.Helper()
	return w.c.do(http.MethodDelete, w.named(name, query), options)
}

// absent requires that the object does not exist.
func (w collection) absent(name string) {
	w.c.t.Helper()
	w.c.get(w.named(name, "")).refused(http.StatusNotFound, "NotFound")
}
