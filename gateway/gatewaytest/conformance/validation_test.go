package conformance

import (
	"fmt"
	"net/http"
	"strings"
)

var validations = []statement{
	{"Strict refuses an unknown field with 400", strictUnknown},
	{"Strict refuses a duplicate field with 400", strictDuplicate},
	{"Strict refuses an unknown field of the metadata with 400", strictMetadata},
	{"Strict accepts a valid object", strictRight},
	{"Warn accepts an unknown field with a Warning", warnUnknown},
	{"Warn is the default", warnByDefault},
	{"Warn tells of a duplicate field", warnDuplicate},
	{"Ignore accepts an unknown field without a Warning", ignoreUnknown},
	{"an unknown field is not stored", unknownPruned},
	{"another fieldValidation is 422", bogusValidation},
	{"Strict holds for PUT, too", strictPut},
	{"Strict holds for PATCH, too", strictPatch},
	{"an unqualified finalizer gets a Warning, and of a built-in kind 422", finalizerWarning},
}

// unknown returns an object with a field that its kind does not have.
func (w collection) unknown(name string) object { return w.object(name, "red", nil).with(w.typo, "x") }

func (w collection) warning() string { return fmt.Sprintf(`299 - "unknown field \"%s\""`, w.typo) }

func strictUnknown(c *check) {
	for _, w := range c.each() {
		w.post(w.unknown("w-a"), "?fieldValidation=Strict").
			refused(http.StatusBadRequest, "BadRequest").saying("strict decoding error").saying(`unknown field "` + w.typo + `"`)
		w.absent("w-a")
	}
}

// duplicate returns the text of an object that has its name twice.
func (w collection) duplicate(name string) string {
	return strings.Replace(w.jsonOf(name), `"metadata":{`, `"metadata":{"name":"`+name+`",`, 1)
}

func strictDuplicate(c *check) {
	w := c.simple()
	w.post(w.duplicate("w-a"), "?fieldValidation=Strict").
		refused(http.StatusBadRequest, "BadRequest").saying("strict decoding error").saying("duplicate field").saying("metadata.name")
	w.absent("w-a")
}

func strictMetadata(c *check) {
	w := c.simple()
	w.post(w.object("w-a", "red", nil).with("metadata.nope", "x"), "?fieldValidation=Strict").
		refused(http.StatusBadRequest, "BadRequest").saying("metadata.nope")
}

func strictRight(c *check) {
	for _, w := range c.each() {
		a := w.post(w.object("w-strict", "red", object{"l": "a"}), "?fieldValidation=Strict")
		a.ok(http.StatusCreated)
		c.equal("warnings", len(a.header.Values("Warning")), 0)
	}
}

func warnUnknown(c *check) {
	for _, w := range c.each() {
		a := w.post(w.unknown("w-warn"), "?fieldValidation=Warn")
		a.ok(http.StatusCreated)
		c.equal("warnings", a.header.Values("Warning"), []string{w.warning()})
	}
}

func warnByDefault(c *check) {
	w := c.rich()
	a := w.post(w.unknown("w-a"), "")
	a.ok(http.StatusCreated)
	c.equal("warnings", a.header.Values("Warning"), []string{w.warning()})
}

func warnDuplicate(c *check) {
	a := c.simple().post(c.simple().duplicate("w-a"), "?fieldValidation=Warn")
	a.ok(http.StatusCreated)
	if got := a.header.Get("Warning"); !strings.HasPrefix(got, `299 - "duplicate field `) {
		c.Errorf("Warning: %s", got)
	}
}

func ignoreUnknown(c *check) {
	w := c.rich()
	a := w.post(w.unknown("w-a"), "?fieldValidation=Ignore")
	a.ok(http.StatusCreated)
	c.equal("warnings", len(a.header.Values("Warning")), 0)
}

func unknownPruned(c *check) {
	w := c.rich()
	if w.keepsUnknown {
		c.NotRun("revtail keeps unknown fields of %s", w.plural)
	}
	made := w.post(w.unknown("w-a"), "?fieldValidation=Ignore").ok(http.StatusCreated)
	if made.at(w.typo) != nil || w.read("w-a").at(w.typo) != nil {
		c.Errorf("the unknown field is kept: %v", made)
	}
}

func bogusValidation(c *check) {
	w := c.simple()
	w.post(w.object("w-a", "red", nil), "?fieldValidation=Bogus").
		refused(http.StatusUnprocessableEntity, "Invalid").cause("fieldValidation", "FieldValueNotSupported")
}

func strictPut(c *check) {
	w := c.rich()
	made := w.create("w-a", "red", nil)
	w.put(made.with(w.typo, "x"), "?fieldValidation=Strict").refused(http.StatusBadRequest, "BadRequest").saying("strict decoding error")
	c.equal("object", w.read("w-a"), made)
}

func strictPatch(c *check) {
	w := c.rich()
	made := w.create("w-a", "red", nil)
	for _, kind := range []string{mergePatch, strategicPatch} {
		if kind == strategicPatch && !w.strategic {
			continue
		}
		a := w.patch("w-a?fieldValidation=Strict", kind, nest(w.typo, "x"))
		if a.code != http.StatusUnprocessableEntity && a.code != http.StatusBadRequest {
			c.Errorf("%s: %d %.300s", kind, a.code, a.body)
		}
	}
	c.equal("object", w.read("w-a"), made)
}

func finalizerWarning(c *check) {
	w := c.simple()
	a := w.post(w.object("w-a", "red", nil).with("metadata.finalizers", []any{"unqualified"}), "")
	c.t.Cleanup(func() { w.unfinalize("w-a") })
	if w.strategic { // the built-in kinds have fewer finalizers than all
		a.refused(http.StatusUnprocessableEntity, "Invalid")
		return
	}
	a.ok(http.StatusCreated)
	if got := a.header.Get("Warning"); !strings.HasPrefix(got, "299 - ") || !strings.Contains(got, "unqualified") {
		c.Errorf("Warning: %q", got)
	}
}
