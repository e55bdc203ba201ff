package conformance

import (
	"net/http"
)

var finalizers = []statement{
	{"a delete marks the object with deletionTimestamp and answers it", finalizedDelete},
	{"the mark is a MODIFIED event", finalizedEvent},
	{"a second delete changes nothing", finalizedTwice},
	{"a delete with orphanDependents=false that is not done at once is 202", finalizedAccepted},
	{"a new finalizer is 422 while the object is being deleted", finalizerAdded},
	{"an object that is being deleted can be updated", finalizedUpdate},
	{"the last finalizer's removal by PUT deletes the object", finalizerRemovedByPut},
	{"the last finalizer's removal by PATCH deletes the object", finalizerRemovedByPatch},
	{"one of two finalizers' removal keeps the object", finalizerRemaining},
	{"a removal of finalizers before the delete deletes nothing", finalizerUnused},
	{"deletionTimestamp cannot be removed", finalizedForGood},
	{"a finalizer that is not a name is 422", finalizerName},
}

const finalizer = "example.com/hold"

// finalized creates an object with a finalizer, which is deleted with the check.
func (w collection) finalized(name string, more ...any) object {
	w.c.t.Helper()
	w.c.t.Cleanup(func() { w.unfinalize(name) })
	return w.post(w.object(name, "red", nil).with("metadata.finalizers", append([]any{finalizer}, more...)), "").ok(http.StatusCreated)
}

// unfinalize removes the finalizer of an object, if it still exists. It is for cleanups.
func (w collection) unfinalize(name string) {
	last := w.c.detached()
	last.quietly(http.MethodPatch, w.named(name, ""), `{"metadata":{"finalizers":null}}`)
	last.quietly(http.MethodDelete, w.named(name, ""), "")
}

// marked returns an object w-a that waits to be deleted.
func (w collection) marked() object {
	w.c.t.Helper()
	w.finalized("w-a")
	return w.remove("w-a", "", nil).ok(http.StatusOK)
}

func finalizedDelete(c *check) {
	w := c.rich()
	made := w.finalized("w-a")
	marked := w.remove("w-a", "", nil).ok(http.StatusOK)
	c.equal("kind", marked.text("kind"), w.kind)
	if !date.MatchString(marked.text("metadata.deletionTimestamp")) {
		c.Errorf("deletionTimestamp %q", marked.text("metadata.deletionTimestamp"))
	}
	c.equal("deletionGracePeriodSeconds", marked.text("metadata.deletionGracePeriodSeconds"), "0")
	c.equal("generation", marked.text("metadata.generation"), "2")
	if marked.rv() <= made.rv() {
		c.Errorf("resourceVersion %s after %s", marked.version(), made.version())
	}
	c.equal("stored", w.read("w-a"), marked)
}

func finalizedEvent(c *check) {
	w := c.simple()
	w.finalized("w-a")
	s := w.watchFrom()
	marked := w.remove("w-a", "", nil).ok(http.StatusOK)
	c.equal("object", s.expect("MODIFIED w-a")[0].object, marked)
}

func finalizedTwice(c *check) {
	w := c.simple()
	marked := w.marked()
	c.equal("object", w.remove("w-a", "", nil).ok(http.StatusOK), marked)
}

func finalizedAccepted(c *check) {
	w := c.simple()
	w.finalized("w-a")
	w.remove("w-a", "?orphanDependents=false", nil).ok(http.StatusAccepted)
}

func finalizerAdded(c *check) {
	w := c.simple()
	w.marked()
	w.patch("w-a", mergePatch, nest("metadata.finalizers", []any{finalizer, "example.com/y"})).
		refused(http.StatusUnprocessableEntity, "Invalid").cause("metadata.finalizers", "FieldValueForbidden")
}

func finalizedUpdate(c *check) {
	w := c.simple()
	marked := w.marked()
	put := w.put(marked.with(w.color, "blue"), "").ok(http.StatusOK)
	c.equal("color and mark", put.text(w.color)+" "+put.text("metadata.deletionTimestamp"), "blue "+marked.text("metadata.deletionTimestamp"))
}

func finalizerRemovedByPut(c *check) {
	w := c.simple()
	marked := w.marked()
	s := w.watchFrom()
	w.put(marked.with("metadata.finalizers", nil), "").ok(http.StatusOK)
	w.absent("w-a")
	if gone := s.expect("DELETED w-a")[0].object; gone.rv() <= marked.rv() {
		c.Errorf("resourceVersion %s after %s", gone.version(), marked.version())
	}
}

func finalizerRemovedByPatch(c *check) {
	w := c.simple()
	w.marked()
	s := w.watchFrom()
	w.patch("w-a", mergePatch, `{"metadata":{"finalizers":[]}}`).ok(http.StatusOK)
	w.absent("w-a")
	s.expect("DELETED w-a")
}

func finalizerRemaining(c *check) {
	w := c.simple()
	w.finalized("w-a", "example.com/y")
	w.remove("w-a", "", nil).ok(http.StatusOK)
	left := w.merge("w-a", nest("metadata.finalizers", []any{"example.com/y"}))
	c.equal("finalizers", left.at("metadata.finalizers"), []string{"example.com/y"})
	w.read("w-a")
}

func finalizerUnused(c *check) {
	w := c.simple()
	w.finalized("w-a")
	w.patch("w-a", mergePatch, `{"metadata":{"finalizers":null}}`).ok(http.StatusOK)
	w.read("w-a")
}

func finalizedForGood(c *check) {
	w := c.simple()
	marked := w.marked()
	put := w.put(marked.with("metadata.deletionTimestamp", nil).with("metadata.deletionGracePeriodSeconds", nil), "").ok(http.StatusOK)
	c.equal("deletionTimestamp", put.text("metadata.deletionTimestamp"), marked.text("metadata.deletionTimestamp"))
}

func finalizerName(c *check) {
	w := c.simple()
	a := w.post(w.object("w-a", "red", nil).with("metadata.finalizers", []any{"not a name"}), "")
	a.refused(http.StatusUnprocessableEntity, "Invalid")
	w.create("w-b", "red", nil)
	w.patch("w-b", mergePatch, nest("metadata.finalizers", []any{"not a name"})).refused(http.StatusUnprocessableEntity, "Invalid")
}
