package conformance

import (
	"net/http"
)

var applies = []statement{
	{"apply creates an absent object: 201, with the manager as its owner", applyCreates},
	{"the same apply again keeps the resourceVersion", applySame},
	{"an apply of a manager changes its own fields", applyChanges},
	{"a field of another manager is a conflict 409 that names manager and field", applyConflict},
	{"force takes over the ownership", applyForce},
	{"the same value shares the ownership", applyShares},
	{"a field that only the applier owned and leaves out is removed", applyRemoves},
	{"a field that another manager owns, too, stays when one leaves it out", applyLeaves},
	{"an update takes a field from the applier", applyAfterUpdate},
	{"without a fieldManager it is 422", applyWithoutManager},
	{"managedFields in the body are 400", applyManagedFields},
	{"a body without kind is 400", applyWithoutKind},
	{"a malformed body is 400", applyMalformed},
	{"a resourceVersion in the body is a precondition: 409", applyPrecondition},
	{"the body may be JSON", applyJSON},
	{"another name than the URL's is 400", applyOtherName},
	{"dryRun=All answers like an apply and stores nothing", applyDryRun},
	{"an apply of the status changes the status", applyStatus},
}

// applied returns the body of an apply: a color and, unless it is empty, a note.
func (w collection) applied(name, color, note string) object {
	body := w.object(name, color, nil)
	if note != "" {
		body = body.with(w.note, note)
	}
	return body
}

func (w collection) apply(manager string, body object, more string) answer {
	w.c.t.Helper()
	return w.patch(body.name()+"?fieldManager="+manager+more, applyPatch, body)
}

func applyCreates(c *check) {
	w := c.simple()
	made := w.apply("m1", w.applied("w-a", "red", ""), "").ok(http.StatusCreated)
	c.equal("managers", managers(made), []string{"m1 Apply"})
	c.equal("color", made.text(w.color), "red")
	if !uuid.MatchString(made.text("metadata.uid")) || made.rv() == 0 {
		c.Errorf("metadata: %v", made.at("metadata"))
	}
	c.equal("stored", w.read("w-a"), made)
}

func applySame(c *check) {
	for _, w := range c.each() {
		made := w.apply("m1", w.applied("w-same", "red", "x"), "").ok(http.StatusCreated)
		c.equal("object", w.apply("m1", w.applied("w-same", "red", "x"), "").ok(http.StatusOK), made)
	}
}

func applyChanges(c *check) {
	w := c.simple()
	made := w.apply("m1", w.applied("w-a", "red", ""), "").ok(http.StatusCreated)
	changed := w.apply("m1", w.applied("w-a", "blue", ""), "").ok(http.StatusOK)
	c.equal("color", changed.text(w.color), "blue")
	if changed.rv() <= made.rv() {
		c.Errorf("resourceVersion %s after %s", changed.version(), made.version())
	}
}

func applyConflict(c *check) {
	w := c.simple()
	made := w.apply("m1", w.applied("w-a", "red", ""), "").ok(http.StatusCreated)
	status := w.apply("m2", w.applied("w-a", "blue", ""), "").
		refused(http.StatusConflict, "Conflict").cause("."+w.color, "FieldManagerConflict").saying(`conflict with "m1"`)
	c.equal("causes", len(status.list("details.causes")), 1)
	c.equal("message of the cause", status.list("details.causes")[0].text("message"), `conflict with "m1"`)
	c.equal("object", w.read("w-a"), made)
}

func applyForce(c *check) {
	w := c.simple()
	w.apply("m1", w.applied("w-a", "red", ""), "").ok(http.StatusCreated)
	forced := w.apply("m2", w.applied("w-a", "blue", ""), "&force=true").ok(http.StatusOK)
	c.equal("color", forced.text(w.color), "blue")
	w.apply("m1", w.applied("w-a", "red", ""), "").refused(http.StatusConflict, "Conflict").saying(`conflict with "m2"`)
}

func applyShares(c *check) {
	w := c.simple()
	w.apply("m1", w.applied("w-a", "red", ""), "").ok(http.StatusCreated)
	shared := w.apply("m2", w.applied("w-a", "red", ""), "").ok(http.StatusOK)
	c.equal("managers", managers(shared), []string{"m1 Apply", "m2 Apply"})
	w.apply("m1", w.applied("w-a", "blue", ""), "").refused(http.StatusConflict, "Conflict")
}

func applyRemoves(c *check) {
	w := c.simple()
	w.apply("m1", w.applied("w-a", "red", "x"), "").ok(http.StatusCreated)
	c.equal("note", w.apply("m1", w.applied("w-a", "red", ""), "").ok(http.StatusOK).at(w.note), nil)
}

func applyLeaves(c *check) {
	w := c.simple()
	w.apply("m1", w.applied("w-a", "red", "x"), "").ok(http.StatusCreated)
	w.apply("m2", w.applied("w-a", "red", "x"), "").ok(http.StatusOK)
	c.equal("note", w.apply("m1", w.applied("w-a", "red", ""), "").ok(http.StatusOK).text(w.note), "x")
	c.equal("note", w.apply("m2", w.applied("w-a", "red", ""), "").ok(http.StatusOK).text(w.note), "")
}

func applyAfterUpdate(c *check) {
	w := c.simple()
	w.apply("m1", w.applied("w-a", "red", ""), "").ok(http.StatusCreated)
	w.patch("w-a?fieldManager=m2", mergePatch, nest(w.color, "blue")).ok(http.StatusOK)
	w.apply("m1", w.applied("w-a", "red", ""), "").refused(http.StatusConflict, "Conflict").cause("."+w.color, "FieldManagerConflict")
}

func applyWithoutManager(c *check) {
	w := c.simple()
	w.patch("w-a", applyPatch, w.applied("w-a", "red", "")).
		refused(http.StatusUnprocessableEntity, "Invalid").cause("fieldManager", "FieldValueRequired")
	w.absent("w-a")
}

func applyManagedFields(c *check) {
	w := c.simple()
	body := w.applied("w-a", "red", "").with("metadata.managedFields", []any{object{"manager": "x", "operation": "Apply"}})
	w.apply("m1", body, "").refused(http.StatusBadRequest, "BadRequest").saying("managedFields")
}

func applyWithoutKind(c *check) {
	w := c.simple()
	w.apply("m1", w.applied("w-a", "red", "").with("kind", nil).with("apiVersion", nil), "").refused(http.StatusBadRequest, "BadRequest")
}

func applyMalformed(c *check) {
	w := c.simple()
	for _, bad := range []string{"kind: [\n  a: b: c", "[]", ""} {
		w.patch("w-a?fieldManager=m1", applyPatch, bad).refused(http.StatusBadRequest, "BadRequest")
	}
}

func applyPrecondition(c *check) {
	w := c.simple()
	made := w.apply("m1", w.applied("w-a", "red", ""), "").ok(http.StatusCreated)
	w.label("w-a", "x")
	w.apply("m1", w.applied("w-a", "blue", "").with("metadata.resourceVersion", made.version()), "").refused(http.StatusConflict, "Conflict")
}

func applyJSON(c *check) {
	w := c.simple()
	w.patch("w-a?fieldManager=m1", applyPatch, w.jsonOf("w-a")).ok(http.StatusCreated)
	body := "kind: " + w.kind + "\napiVersion: " + w.apiVersion() + "\nmetadata:\n  name: w-b\n"
	w.patch("w-b?fieldManager=m1", applyPatch, body).ok(http.StatusCreated)
}

func applyOtherName(c *check) {
	w := c.simple()
	w.patch("w-b?fieldManager=m1", applyPatch, w.applied("w-a", "red", "")).refused(http.StatusBadRequest, "BadRequest")
}

func applyDryRun(c *check) {
	w := c.simple()
	c.equal("color", w.apply("m1", w.applied("w-a", "red", ""), "&dryRun=All").ok(http.StatusCreated).text(w.color), "red")
	w.absent("w-a")
}

func applyStatus(c *check) {
	w := c.rich()
	w.create("w-a", "red", nil)
	body := nest(w.status, 7).with("kind", w.kind).with("apiVersion", w.apiVersion()).with("metadata", object{"name": "w-a"})
	got := w.patch("w-a/status?fieldManager=m1", applyPatch, body).ok(http.StatusOK)
	c.equal("status", got.text(w.status), "7")
	for _, entry := range got.list("metadata.managedFields") {
		if entry.text("manager") == "m1" {
			c.equal("subresource of m1", entry.text("subresource"), "status")
			return
		}
	}
	c.Errorf("managers: %v", managers(got))
}
