package conformance

import (
	"net/http"
	"strings"
)

var mediaTypes = []statement{
	{"a client that accepts JSON, in any form, gets application/json", acceptsJSON},
	{"of several media types the first that is served wins, by quality", acceptsByQuality},
	{"unknown parameters of a media type are ignored", acceptsParameters},
	{"a media type that is not served is 406 NotAcceptable", notAcceptable},
	{"stream=watch is accepted for a list", streamParameterOnList},
	{"stream=bogus is 406", bogusStream},
	{"an error is a JSON Status even where a Table was asked for", errorsAreNotTables},
	{"PartialObjectMetadataList on a list has metadata and nothing else", metadataList},
	{"PartialObjectMetadataList keeps the token and the count", metadataListPages},
	{"PartialObjectMetadata on an object has metadata and nothing else", metadataObject},
	{"PartialObjectMetadata on a list is 406", metadataOnList},
	{"PartialObjectMetadataList on an object is 406", metadataListOnObject},
	{"a write answers in the form that was asked for", writesAnswerMetadata},
}

func acceptsJSON(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	accepts := []string{"application/json", "*/*", "*", "application/*", "application/json;foo=bar", "application/cbor,application/json",
		"text/html,*/*;q=0.1", "application/json;q=0.5"}
	if w.schema { // built-in kinds may have a protobuf form
		accepts = append(accepts, "application/vnd.kubernetes.protobuf,application/json", "application/vnd.kubernetes.protobuf, */*")
	}
	for _, accept := range accepts {
		for _, path := range []string{w.path(""), w.named("w-a", "")} {
			a := c.get(path, "Accept", accept)
			a.ok(http.StatusOK)
			c.equal("Content-Type for "+accept, a.header.Get("Content-Type"), "application/json")
		}
	}
	for _, none := range []string{"", " "} { // no header at all, and an empty one
		c.get(w.path(""), "Accept", none).ok(http.StatusOK)
	}
	c.get(w.path("")).ok(http.StatusOK)
}

func acceptsByQuality(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	table := "application/json;as=Table;v=v1;g=meta.k8s.io"
	for accept, kind := range map[string]string{
		"application/json;q=0.4," + table + ";q=0.6":                    "Table",
		"application/json;q=0.6," + table + ";q=0.4":                    w.kind + "List",
		table + ",application/json":                                     "Table",
		"application/json," + table:                                     w.kind + "List",
		"application/json;as=Bogus;v=v1;g=meta.k8s.io,application/json": w.kind + "List",
	} {
		c.equal(accept, c.get(w.path(""), "Accept", accept).ok(http.StatusOK).text("kind"), kind)
	}
}

func acceptsParameters(c *check) {
	c.get(c.simple().path(""), "Accept", "application/json;charset=utf-8").ok(http.StatusOK)
}

func notAcceptable(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	accepts := []string{"text/html", "application/cbor", "image/png", "text/event-stream", "application/json;q=0"}
	if w.schema {
		accepts = append(accepts, "application/vnd.kubernetes.protobuf")
	}
	for _, accept := range accepts {
		a := c.get(w.named("w-a", ""), "Accept", accept)
		c.equal("code for "+accept, a.code, http.StatusNotAcceptable)
		if strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
			c.wantStatus(a.json(), http.StatusNotAcceptable, "NotAcceptable")
		}
	}
}

func streamParameterOnList(c *check) {
	a := c.get(c.simple().path(""), "Accept", "application/json;stream=watch")
	a.ok(http.StatusOK)
	c.equal("Content-Type", a.header.Get("Content-Type"), "application/json")
}

func bogusStream(c *check) {
	w := c.simple()
	for _, watch := range []string{"", "?watch=1"} {
		c.equal("code", c.get(w.path(watch), "Accept", "application/json;stream=bogus").code, http.StatusNotAcceptable)
	}
}

func errorsAreNotTables(c *check) {
	for _, as := range []string{"Table", "PartialObjectMetadata"} {
		c.get(c.simple().named("nope", ""), "Accept", as1(as)).refused(http.StatusNotFound, "NotFound")
	}
}

// as1 returns the Accept header of a form that v1 of meta.k8s.io defines.
func as1(form string) string { return "application/json;as=" + form + ";v=v1;g=meta.k8s.io" }

// wantMetadata requires an object that has its metadata and nothing else.
func (c *check) wantMetadata(o object) {
	c.t.Helper()
	c.equal("kind", o.text("kind")+" "+o.text("apiVersion"), "PartialObjectMetadata meta.k8s.io/v1")
	c.equal("members", len(o), 3)
	if o.name() == "" || o.text("metadata.uid") == "" || o.version() == "" {
		c.Errorf("metadata: %v", o.at("metadata"))
	}
}

func metadataList(c *check) {
	w := c.simple()
	w.five()
	a := c.get(w.path(""), "Accept", as1("PartialObjectMetadataList"))
	list := a.ok(http.StatusOK)
	c.equal("Content-Type", a.header.Get("Content-Type"), "application/json")
	c.equal("kind", list.text("kind")+" "+list.text("apiVersion"), "PartialObjectMetadataList meta.k8s.io/v1")
	c.equal("names", names(list), []string{"w-a", "w-b", "w-c", "w-d", "w-e"})
	c.equal("a label", list.list("items")[0].text("metadata.labels.l"), "a")
	for _, item := range list.list("items") {
		c.wantMetadata(item)
	}
	if list.rv() == 0 {
		c.Errorf("the list has no resourceVersion")
	}
}

func metadataListPages(c *check) {
	w := c.simple()
	w.five()
	list := c.get(w.path("?limit=2"), "Accept", as1("PartialObjectMetadataList")).ok(http.StatusOK)
	c.equal("remainingItemCount", list.text("metadata.remainingItemCount"), "3")
	next := c.get(w.path(query("continue", list.text("metadata.continue"))), "Accept", as1("PartialObjectMetadataList")).ok(http.StatusOK)
	c.equal("names", names(next), []string{"w-c", "w-d", "w-e"})
}

func metadataObject(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	c.wantMetadata(c.get(w.named("w-a", ""), "Accept", as1("PartialObjectMetadata")).ok(http.StatusOK))
}

func metadataOnList(c *check) {
	c.equal("code", c.get(c.simple().path(""), "Accept", as1("PartialObjectMetadata")).code, http.StatusNotAcceptable)
}

func metadataListOnObject(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	c.equal("code", c.get(w.named("w-a", ""), "Accept", as1("PartialObjectMetadataList")).code, http.StatusNotAcceptable)
}

func writesAnswerMetadata(c *check) {
	w := c.simple()
	made := w.post(w.object("w-a", "red", nil), "", "Accept", as1("PartialObjectMetadata")).ok(http.StatusCreated)
	c.wantMetadata(made)
	patched := c.do(http.MethodPatch, w.named("w-a", ""), nest(w.color, "blue"), "Content-Type", mergePatch, "Accept", as1("PartialObjectMetadata"))
	c.wantMetadata(patched.ok(http.StatusOK))
}
