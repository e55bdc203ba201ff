package conformance

import (
	"net/http"
)

var deletes = []statement{
	{"a delete answers a Status Success that names the object and its uid", deleteAnswers},
	{"a deleted object is gone, and deleting it again is 404", deleteTwice},
	{"a uid that does not match is 409, and the object remains", deleteUID},
	{"a resourceVersion that does not match is 409, and the object remains", deleteRevision},
	{"a delete with matching preconditions is done", deleteMatching},
	{"a propagationPolicy that does not exist is 422", deleteBogusPolicy},
	{"orphanDependents and a propagationPolicy together are 422", deleteBothPolicies},
	{"a body of another kind is 400", deleteOtherKind},
	{"a malformed body is 400", deleteMalformed},
	{"the options may be in the query", deleteQuery},
	{"the options may be YAML", deleteYAML},
	{"dryRun=All deletes nothing and sends no event", deleteDryRun},
	{"another dryRun is 422", deleteBogusDryRun},
	{"gracePeriodSeconds is accepted", deleteGrace},
	{"of two deletes one wins", deleteRace},
	{"an object that is created again has another uid", deleteAndCreate},
}

func deleteAnswers(c *check) {
	for _, w := range c.each() {
		made := w.create("w-gone", "red", nil)
		status := w.remove("w-gone", "", nil).ok(http.StatusOK)
		c.equal("Status", status.text("kind")+" "+status.text("apiVersion")+" "+status.text("status"), "Status v1 Success")
		got := []string{status.text("details.name"), status.text("details.group"), status.text("details.kind"), status.text("details.uid")}
		c.equal("details", got, []string{"w-gone", w.group, w.plural, made.text("metadata.uid")})
	}
}

func deleteTwice(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	w.remove("w-a", "", nil).ok(http.StatusOK)
	w.absent("w-a")
	w.remove("w-a", "", nil).refused(http.StatusNotFound, "NotFound").about("w-a", w.group, w.plural)
}

func deleteUID(c *check) {
	w := c.simple()
	made := w.create("w-a", "red", nil)
	w.remove("w-a", "", nest("preconditions.uid", "zzz")).refused(http.StatusConflict, "Conflict").saying("zzz")
	c.equal("object", w.read("w-a"), made)
}

func deleteRevision(c *check) {
	w := c.simple()
	made := w.create("w-a", "red", nil)
	newer := w.paint("w-a", "blue")
	w.remove("w-a", "", nest("preconditions.resourceVersion", made.version())).refused(http.StatusConflict, "Conflict")
	c.equal("object", w.read("w-a"), newer)
}

func deleteMatching(c *check) {
	w := c.simple()
	made := w.create("w-a", "red", nil)
	options := object{"kind": "DeleteOptions", "apiVersion": "v1",
		"preconditions": object{"uid": made.text("metadata.uid"), "resourceVersion": made.version()}}
	w.remove("w-a", "", options).ok(http.StatusOK)
	w.absent("w-a")
}

func deleteBogusPolicy(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	for _, a := range []answer{w.remove("w-a", "?propagationPolicy=Bogus", nil), w.remove("w-a", "", object{"propagationPolicy": "Bogus"})} {
		a.refused(http.StatusUnprocessableEntity, "Invalid").cause("propagationPolicy", "FieldValueNotSupported")
	}
	w.read("w-a")
}

func deleteBothPolicies(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	w.remove("w-a", "", object{"propagationPolicy": "Orphan", "orphanDependents": true}).refused(http.StatusUnprocessableEntity, "Invalid")
	w.read("w-a")
}

func deleteOtherKind(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	w.remove("w-a", "", object{"kind": "Gadget", "apiVersion": "v1"}).refused(http.StatusBadRequest, "BadRequest")
	w.read("w-a")
}

func deleteMalformed(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	for _, bad := range []string{"{bad", "[]", `{"gracePeriodSeconds":"x"}`} {
		c.do(http.MethodDelete, w.named("w-a", ""), bad, "Content-Type", "application/json").refused(http.StatusBadRequest, "BadRequest")
	}
	w.read("w-a")
}

func deleteQuery(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	w.remove("w-a", "?dryRun=All", nil).ok(http.StatusOK)
	w.read("w-a")
	w.remove("w-a", "?propagationPolicy=Background&gracePeriodSeconds=0", nil).ok(http.StatusOK)
	w.absent("w-a")
}

func deleteYAML(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	body := "kind: DeleteOptions\napiVersion: v1\npropagationPolicy: Background\n"
	c.do(http.MethodDelete, w.named("w-a", ""), body, "Content-Type", "application/yaml").ok(http.StatusOK)
	w.absent("w-a")
}

func deleteDryRun(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	s := w.watchFrom()
	w.remove("w-a", "", object{"dryRun": []string{"All"}}).ok(http.StatusOK)
	w.read("w-a")
	w.create("end", "red", nil)
	c.equal("events", tell(s.until("end")), "")
	w.remove("nope", "?dryRun=All", nil).refused(http.StatusNotFound, "NotFound")
}

func deleteBogusDryRun(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	w.remove("w-a", "?dryRun=Nope", nil).refused(http.StatusUnprocessableEntity, "Invalid").cause("dryRun", "FieldValueNotSupported")
	w.read("w-a")
}

func deleteGrace(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	w.remove("w-a", "", object{"gracePeriodSeconds": 30}).ok(http.StatusOK)
	w.absent("w-a")
}

func deleteRace(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	codes := make(chan int, 8)
	for range cap(codes) {
		go func() {
			code := 0
			defer func() { codes <- code }()
			code = w.remove("w-a", "", nil).code
		}()
	}
	got := map[int]int{}
	for range cap(codes) {
		got[<-codes]++
	}
	c.equal("codes", got, map[int]int{http.StatusOK: 1, http.StatusNotFound: cap(codes) - 1})
}

func deleteAndCreate(c *check) {
	w := c.simple()
	first := w.create("w-a", "red", nil)
	w.remove("w-a", "", nil).ok(http.StatusOK)
	second := w.create("w-a", "red", nil)
	if first.text("metadata.uid") == second.text("metadata.uid") || second.rv() <= first.rv() {
		c.Errorf("metadata: %v, then %v", first.at("metadata"), second.at("metadata"))
	}
	w.remove("w-a", "", nest("preconditions.uid", first.text("metadata.uid"))).refused(http.StatusConflict, "Conflict")
}
