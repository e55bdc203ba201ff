package conformance

import (
	"net/http"
	"strconv"
)

var updates = []statement{
	{"a PUT replaces the object and gives it a new resourceVersion", putReplaces},
	{"a PUT removes fields that the body leaves out", putRemoves},
	{"without a resourceVersion it is 422 if the kind requires one", putWithoutRevision},
	{"without a resourceVersion it replaces if the kind allows it", putUnconditional},
	{"a stale resourceVersion is 409 Conflict", putStale},
	{"a resourceVersion that is not a number is 400", putBadRevision},
	{"another name than the URL's is 400", putOtherName},
	{"no name is 400", putNoName},
	{"another namespace is 400", putOtherNamespace},
	{"an absent object is 404 NotFound", putAbsent},
	{"an absent object is created if the kind allows it", putCreates},
	{"another uid is 409 Conflict", putOtherUID},
	{"fields that the server owns are kept", putKeeps},
	{"a change of the spec raises the generation", putGeneration},
	{"a change of labels alone does not raise the generation", putLabels},
	{"an unchanged body keeps the resourceVersion", putUnchanged},
	{"an invalid object is 422 and changes nothing", putInvalid},
	{"dryRun=All answers like a PUT and changes nothing", putDryRun},
	{"of two updates of one resourceVersion one wins", putRace},
	{"each manager keeps the fields it wrote", putManagers},
	{"the body may be YAML", putYAML},
}

func putReplaces(c *check) {
	w := c.simple()
	made := w.create("w-a", "red", nil)
	put := w.put(made.with(w.color, "blue"), "").ok(http.StatusOK)
	c.equal("color", put.text(w.color), "blue")
	if put.rv() <= made.rv() {
		c.Errorf("resourceVersion %s after %s", put.version(), made.version())
	}
	c.equal("stored", w.read("w-a"), put)
}

func putRemoves(c *check) {
	w := c.simple()
	made := w.post(w.object("w-a", "red", object{"l": "a"}).with(w.note, "x"), "").ok(http.StatusCreated)
	put := w.put(made.with(w.note, nil).with("metadata.labels", nil), "").ok(http.StatusOK)
	if put.at(w.note) != nil || put.at("metadata.labels") != nil {
		c.Errorf("%v", put)
	}
}

func putWithoutRevision(c *check) {
	w := c.strict()
	made := w.create("w-a", "red", nil)
	w.put(made.with(w.color, "blue").with("metadata.resourceVersion", nil), "").
		refused(http.StatusUnprocessableEntity, "Invalid").cause("metadata.resourceVersion", "FieldValueInvalid").saying("must be specified for an update")
	c.equal("object", w.read("w-a"), made)
}

func putUnconditional(c *check) {
	w := c.simple()
	if !w.unconditional {
		c.NotRun("%s want a resourceVersion", w.plural)
	}
	made := w.create("w-a", "red", nil)
	c.equal("color", w.put(made.with(w.color, "blue").with("metadata.resourceVersion", nil), "").ok(http.StatusOK).text(w.color), "blue")
}

func putStale(c *check) {
	for _, w := range c.each() {
		made := w.create("w-stale", "red", nil)
		newer := w.paint("w-stale", "blue")
		w.put(made.with(w.color, "green"), "").
			refused(http.StatusConflict, "Conflict").saying("the object has been modified").about("w-stale", w.group, w.plural)
		c.equal("object", w.read("w-stale"), newer)
	}
}

func putBadRevision(c *check) {
	w := c.simple()
	made := w.create("w-a", "red", nil)
	w.put(made.with("metadata.resourceVersion", "abc"), "").refused(http.StatusBadRequest, "BadRequest")
}

func (w collection) putAt(name string, body object) answer {
	w.c.t.Helper()
	return w.c.do(http.MethodPut, w.named(name, ""), body)
}

func putOtherName(c *check) {
	w := c.simple()
	made := w.create("w-a", "red", nil)
	w.putAt("w-a", made.with("metadata.name", "w-b")).refused(http.StatusBadRequest, "BadRequest")
}

func putNoName(c *check) {
	w := c.simple()
	made := w.create("w-a", "red", nil)
	w.putAt("w-a", made.with("metadata.name", nil)).refused(http.StatusBadRequest, "BadRequest")
}

func putOtherNamespace(c *check) {
	w := c.simple()
	made := w.create("w-a", "red", nil)
	w.put(made.with("metadata.namespace", "elsewhere"), "").refused(http.StatusBadRequest, "BadRequest")
}

func putAbsent(c *check) {
	w := c.simple()
	w.put(w.object("nope", "red", nil).with("metadata.resourceVersion", w.list("").version()), "").
		refused(http.StatusNotFound, "NotFound").about("nope", w.group, w.plural)
	if w.upsert {
		return
	}
	w.put(w.object("nope", "red", nil), "").refused(http.StatusNotFound, "NotFound")
}

func putCreates(c *check) {
	w := c.strict()
	if !w.upsert {
		c.NotRun("%s are not created by a PUT", w.plural)
	}
	c.equal("generation or uid", w.put(w.object("w-a", "red", nil), "").ok(http.StatusCreated).text("metadata.uid") != "", true)
	c.equal("color", w.read("w-a").text(w.color), "red")
}

func putOtherUID(c *check) {
	w := c.simple()
	made := w.create("w-a", "red", nil)
	w.put(made.with("metadata.uid", "00000000-0000-4000-8000-000000000000"), "").refused(http.StatusConflict, "Conflict")
}

func putKeeps(c *check) {
	w := c.rich()
	made := w.create("w-a", "red", nil)
	body := made.with("metadata.uid", nil).with("metadata.creationTimestamp", nil).with("metadata.generation", 77).
		with("metadata.deletionTimestamp", "2001-01-01T00:00:00Z").with("metadata.selfLink", "/x").with(w.color, "blue")
	put := w.put(body, "").ok(http.StatusOK)
	for _, member := range []string{"uid", "creationTimestamp", "deletionTimestamp", "selfLink"} {
		c.equal(member, put.text("metadata."+member), made.text("metadata."+member))
	}
	c.equal("generation", put.text("metadata.generation"), "2")
}

func putGeneration(c *check) {
	w := c.rich()
	made := w.create("w-a", "red", nil)
	c.equal("generation", w.put(made.with(w.color, "blue"), "").ok(http.StatusOK).text("metadata.generation"), "2")
	c.equal("generation after a patch", w.paint("w-a", "green").text("metadata.generation"), "3")
}

func putLabels(c *check) {
	w := c.rich()
	made := w.create("w-a", "red", nil)
	put := w.put(made.with("metadata.labels", object{"l": "a"}), "").ok(http.StatusOK)
	c.equal("generation", put.text("metadata.generation"), "1")
	if put.rv() <= made.rv() {
		c.Errorf("resourceVersion %s after %s", put.version(), made.version())
	}
}

func putUnchanged(c *check) {
	for _, w := range c.each() {
		made := w.create("w-same", "red", object{"l": "a"})
		c.equal("resourceVersion", w.put(made, "").ok(http.StatusOK).version(), made.version())
	}
}

func putInvalid(c *check) {
	w := c.simple()
	made := w.create("w-a", "red", nil)
	w.put(made.with("metadata.labels", object{"l": "a b"}), "").refused(http.StatusUnprocessableEntity, "Invalid").cause("metadata.labels", "FieldValueInvalid")
	c.equal("object", w.read("w-a"), made)
}

func putDryRun(c *check) {
	w := c.rich()
	made := w.create("w-a", "red", nil)
	put := w.put(made.with(w.color, "blue"), "?dryRun=All").ok(http.StatusOK)
	c.equal("color, generation, resourceVersion", put.text(w.color)+" "+put.text("metadata.generation")+" "+put.version(), "blue 2 "+made.version())
	c.equal("object", w.read("w-a"), made)
}

func putRace(c *check) {
	w := c.simple()
	made := w.create("w-a", "red", nil)
	codes := make(chan int, 8)
	for i := range cap(codes) {
		go func() {
			code := 0
			defer func() { codes <- code }()
			code = w.put(made.with(w.color, "color-"+strconv.Itoa(i)), "").code
		}()
	}
	got := map[int]int{}
	for range cap(codes) {
		got[<-codes]++
	}
	c.equal("codes", got, map[int]int{http.StatusOK: 1, http.StatusConflict: cap(codes) - 1})
}

func putManagers(c *check) {
	w := c.simple()
	made := w.post(w.object("w-a", "red", nil), "?fieldManager=m1").ok(http.StatusCreated)
	put := w.put(made.with(w.note, "x"), "?fieldManager=m2").ok(http.StatusOK)
	c.equal("managers", managers(put), []string{"m1 Update", "m2 Update"})
}

func putYAML(c *check) {
	w := c.simple()
	made := w.create("w-a", "red", nil)
	body := "kind: " + w.kind + "\napiVersion: " + w.apiVersion() + "\nmetadata:\n  name: w-a\n  resourceVersion: \"" + made.version() + "\"\n  labels: {l: b}\n"
	put := c.do(http.MethodPut, w.named("w-a", ""), body, "Content-Type", "application/yaml").ok(http.StatusOK)
	c.equal("label", put.text("metadata.labels.l"), "b")
}
