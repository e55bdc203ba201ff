package conformance

import (
	"net/http"
	"strings"
	"sync"
)

var patches = []statement{
	{"a merge patch sets fields and deletes those that are null", mergeSets},
	{"an empty merge patch keeps the resourceVersion", mergeEmpty},
	{"a merge patch that is malformed or not an object is 400", mergeBad},
	{"a JSON patch replaces, adds and removes", jsonPatches},
	{"a JSON patch whose test fails, with an unknown op or a missing path is 422", jsonPatchFails},
	{"a JSON patch that is not an array is 400", jsonPatchBad},
	{"a JSON patch of more than 10000 operations is 413", jsonPatchLong},
	{"a strategic merge patch merges lists by key, or is 415 where there is no Go type", strategicMerge},
	{"another Content-Type is 415", patchContentType},
	{"a patch of an absent object is 404", patchAbsent},
	{"a patch that changes the name is 400", patchName},
	{"a patch that changes the uid is refused", patchUID},
	{"a resourceVersion in a patch is a precondition: 409", patchPrecondition},
	{"without a resourceVersion a patch never conflicts", patchRace},
	{"a patch to an invalid object is 422 and changes nothing", patchInvalid},
	{"force without apply is 422", patchForce},
	{"dryRun=All answers like a patch and changes nothing", patchDryRun},
	{"a patch keeps the managers of the other fields", patchManagers},
}

func mergeSets(c *check) {
	w := c.simple()
	w.post(w.object("w-a", "red", object{"l": "a", "m": "b"}).with(w.note, "x"), "").ok(http.StatusCreated)
	patched := w.merge("w-a", nest(w.color, "blue").with(w.note, "y").with("metadata", object{"labels": object{"m": nil}}))
	c.equal("fields", patched.text(w.color)+" "+patched.text(w.note), "blue y")
	c.equal("labels", patched.at("metadata.labels"), object{"l": "a"})
	c.equal("after null", w.merge("w-a", nest(w.note, nil)).at(w.note), nil)
	c.equal("stored", w.read("w-a").at(w.note), nil)
}

func mergeEmpty(c *check) {
	w := c.simple()
	made := w.create("w-a", "red", nil)
	c.equal("object", w.merge("w-a", object{}), made)
}

func mergeBad(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	for _, bad := range []string{`{bad`, `[]`, `7`, ``} {
		w.patch("w-a", mergePatch, bad).refused(http.StatusBadRequest, "BadRequest")
	}
}

// pointer returns the JSON pointer of a dotted path.
func pointer(path string) string { return "/" + strings.ReplaceAll(path, ".", "/") }

func jsonPatches(c *check) {
	w := c.simple()
	w.create("w-a", "red", object{"l": "a"})
	patched := w.patch("w-a", jsonPatch, []object{
		{"op": "test", "path": pointer(w.color), "value": "red"},
		{"op": "replace", "path": pointer(w.color), "value": "blue"},
		{"op": "add", "path": pointer(w.note), "value": "x"},
		{"op": "remove", "path": "/metadata/labels/l"},
	}).ok(http.StatusOK)
	c.equal("fields", patched.text(w.color)+" "+patched.text(w.note)+" "+patched.text("metadata.labels.l"), "blue x ")
}

func jsonPatchFails(c *check) {
	w := c.simple()
	made := w.create("w-a", "red", nil)
	for _, operation := range []object{
		{"op": "test", "path": pointer(w.color), "value": "blue"},
		{"op": "paint", "path": pointer(w.color), "value": "blue"},
		{"op": "replace", "path": "/metadata/nope/nope", "value": "blue"},
		{"op": "remove", "path": pointer(w.note)},
	} {
		w.patch("w-a", jsonPatch, []object{{"op": "add", "path": "/metadata/labels", "value": object{"l": "a"}}, operation}).
			refused(http.StatusUnprocessableEntity, "Invalid")
	}
	c.equal("object", w.read("w-a"), made)
}

func jsonPatchBad(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	for _, bad := range []string{`{}`, `{"op":"add"}`, `[`, `"x"`} {
		w.patch("w-a", jsonPatch, bad).refused(http.StatusBadRequest, "BadRequest")
	}
}

func jsonPatchLong(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	operation := `{"op":"test","path":"/kind","value":"` + w.kind + `"},`
	long := "[" + strings.TrimSuffix(strings.Repeat(operation, 10_001), ",") + "]"
	w.patch("w-a", jsonPatch, long).refused(http.StatusRequestEntityTooLarge, "RequestEntityTooLarge")
}

func strategicMerge(c *check) {
	w := c.rich()
	w.create("w-a", "red", nil)
	if !w.strategic {
		w.patch("w-a", strategicPatch, nest(w.color, "blue")).refused(http.StatusUnsupportedMediaType, "UnsupportedMediaType")
		return
	}
	side := nest("spec.template.spec.containers", []any{object{"name": "side", "image": "example.com/side"}})
	patched := w.patch("w-a", strategicPatch, side).ok(http.StatusOK)
	c.equal("containers", len(patched.list("spec.template.spec.containers")), 2)
	remove := nest("spec.template.spec.containers", []any{object{"name": "side", "$patch": "delete"}})
	c.equal("containers", len(w.patch("w-a", strategicPatch, remove).ok(http.StatusOK).list("spec.template.spec.containers")), 1)
}

func patchContentType(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	for _, kind := range []string{"application/json", "text/plain", "application/yaml", ""} {
		w.patch("w-a", kind, nest(w.color, "blue")).refused(http.StatusUnsupportedMediaType, "UnsupportedMediaType")
	}
}

func patchAbsent(c *check) {
	w := c.simple()
	w.patch("nope", mergePatch, nest(w.color, "blue")).refused(http.StatusNotFound, "NotFound").about("nope", w.group, w.plural)
}

func patchName(c *check) {
	w := c.simple()
	made := w.create("w-a", "red", nil)
	w.patch("w-a", mergePatch, nest("metadata.name", "w-b")).refused(http.StatusBadRequest, "BadRequest")
	c.equal("object", w.read("w-a"), made)
}

func patchUID(c *check) {
	w := c.simple()
	made := w.create("w-a", "red", nil)
	a := w.patch("w-a", mergePatch, nest("metadata.uid", "00000000-0000-4000-8000-000000000000"))
	a.refused(http.StatusUnprocessableEntity, "Invalid").cause("metadata.uid", "FieldValueInvalid")
	c.equal("object", w.read("w-a"), made)
}

func patchPrecondition(c *check) {
	w := c.simple()
	made := w.create("w-a", "red", nil)
	newer := w.paint("w-a", "blue")
	w.patch("w-a", mergePatch, nest(w.color, "green").with("metadata", object{"resourceVersion": made.version()})).refused(http.StatusConflict, "Conflict")
	w.patch("w-a", mergePatch, nest(w.color, "green").with("metadata", object{"resourceVersion": newer.version()})).ok(http.StatusOK)
}

func patchRace(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	keys := []string{"a", "b", "c", "d"}
	var writers sync.WaitGroup
	for _, key := range keys {
		writers.Go(func() {
			for _, value := range keys {
				a := w.patch("w-a", mergePatch, nest("metadata.labels."+key, value))
				if a.code != http.StatusOK {
					c.Errorf("%s=%s: %d %.300s", key, value, a.code, a.body)
				}
			}
		})
	}
	writers.Wait()
	c.equal("labels", w.read("w-a").at("metadata.labels"), object{"a": "d", "b": "d", "c": "d", "d": "d"})
}

func patchInvalid(c *check) {
	w := c.simple()
	made := w.create("w-a", "red", nil)
	w.patch("w-a", mergePatch, nest("metadata.labels.l", "a b")).
		refused(http.StatusUnprocessableEntity, "Invalid").cause("metadata.labels", "FieldValueInvalid")
	c.equal("object", w.read("w-a"), made)
}

func patchForce(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	w.patch("w-a?force=true", mergePatch, nest(w.color, "blue")).refused(http.StatusUnprocessableEntity, "Invalid").cause("force", "FieldValueForbidden")
}

func patchDryRun(c *check) {
	w := c.rich()
	made := w.create("w-a", "red", nil)
	patched := w.patch("w-a?dryRun=All", mergePatch, nest(w.color, "blue")).ok(http.StatusOK)
	got := patched.text(w.color) + " " + patched.text("metadata.generation") + " " + patched.version()
	c.equal("color, generation, resourceVersion", got, "blue 2 "+made.version())
	c.equal("object", w.read("w-a"), made)
}

func patchManagers(c *check) {
	w := c.simple()
	w.post(w.object("w-a", "red", nil), "?fieldManager=m1").ok(http.StatusCreated)
	patched := w.patch("w-a?fieldManager=m2", mergePatch, nest(w.note, "x")).ok(http.StatusOK)
	c.equal("managers", managers(patched), []string{"m1 Update", "m2 Update"})
	again := w.patch("w-a?fieldManager=m2", mergePatch, nest(w.note, "x")).ok(http.StatusOK)
	c.equal("resourceVersion of the same patch", again.version(), patched.version())
}
