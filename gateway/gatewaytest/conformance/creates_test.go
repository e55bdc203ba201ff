package conformance

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

var creates = []statement{
	{"a create answers 201 with the object as it is stored", createAnswers},
	{"the server sets uid, resourceVersion, creationTimestamp, generation and namespace", createSets},
	{"fields that the server owns are ignored in the body", createIgnores},
	{"status is ignored if it has a subresource", createIgnoresStatus},
	{"managedFields name the manager of each field", createManagedFields},
	{"fieldManager names the manager, else the User-Agent does", createManager},
	{"a name that exists is 409 AlreadyExists", createExisting},
	{"a name whose object is being deleted is 409", createTerminating},
	{"generateName gets five random characters", generatedName},
	{"a name wins over generateName", generatedNameGiven},
	{"a body without Content-Type is JSON", createWithoutType},
	{"a body in YAML is accepted, the answer is JSON", createYAML},
	{"dryRun=All answers like a create, stores nothing and sends no event", createDryRun},
	{"another dryRun is 422", createBogusDryRun},
	{"a fieldManager of more than 128 bytes is 422", createLongManager},
	{"of two creates of one name one wins", createRace},
	{"objects of two namespaces may have one name", createNamespaces},
	{"numbers and unknown text are returned unchanged", createKeepsText},
	{"a label or an annotation that is null is an empty one", createNulls},
	{"a namespace that does not exist is 404", createNowhere},
}

func createAnswers(c *check) {
	w := c.simple()
	made := w.post(w.object("w-a", "red", object{"l": "a"}), "").ok(http.StatusCreated)
	c.equal("kind", made.text("kind")+" "+made.text("apiVersion"), w.kind+" "+w.apiVersion())
	c.equal("color and label", made.text(w.color)+" "+made.text("metadata.labels.l"), "red a")
	c.equal("stored", w.read("w-a"), made)
}

var (
	uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	date = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`)
)

func createSets(c *check) {
	w := c.rich()
	made := w.create("w-a", "red", nil)
	if !uuid.MatchString(made.text("metadata.uid")) {
		c.Errorf("uid %q", made.text("metadata.uid"))
	}
	if !date.MatchString(made.text("metadata.creationTimestamp")) {
		c.Errorf("creationTimestamp %q", made.text("metadata.creationTimestamp"))
	}
	if at, err := time.Parse(time.RFC3339, made.text("metadata.creationTimestamp")); err != nil || time.Since(at).Abs() > time.Hour {
		c.Errorf("creationTimestamp %v, %v", at, err)
	}
	c.equal("generation", made.text("metadata.generation"), "1")
	c.equal("namespace", made.text("metadata.namespace"), c.ns)
	if made.rv() == 0 {
		c.Errorf("no resourceVersion")
	}
}

func createIgnores(c *check) {
	w := c.rich()
	body := w.object("w-a", "red", nil)
	for member, value := range map[string]any{"uid": "zzz", "creationTimestamp": "2001-01-01T00:00:00Z", "generation": 7, "selfLink": "/x",
		"deletionTimestamp": "2001-01-01T00:00:00Z", "deletionGracePeriodSeconds": 3} {
		body = body.with("metadata."+member, value)
	}
	made := w.post(body, "").ok(http.StatusCreated)
	c.equal("generation", made.text("metadata.generation"), "1")
	if !uuid.MatchString(made.text("metadata.uid")) || strings.HasPrefix(made.text("metadata.creationTimestamp"), "2001") {
		c.Errorf("metadata: %v", made.at("metadata"))
	}
	for _, member := range []string{"selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"} {
		if made.has("metadata." + member) {
			c.Errorf("%s was taken from the body", member)
		}
	}
}

func createIgnoresStatus(c *check) {
	w := c.rich()
	made := w.post(w.object("w-a", "red", nil).with(w.status, 7), "").ok(http.StatusCreated)
	c.equal("status", made.text(w.status), "")
	c.equal("status as stored", w.read("w-a").text(w.status), "")
}

// managers returns the entries of managedFields as "manager operation".
func managers(o object) []string {
	out := []string{}
	for _, entry := range o.list("metadata.managedFields") {
		out = append(out, entry.text("manager")+" "+entry.text("operation"))
	}
	slices.Sort(out)
	return out
}

func createManagedFields(c *check) {
	w := c.simple()
	entries := w.create("w-a", "red", nil).list("metadata.managedFields")
	if len(entries) != 1 {
		c.Fatalf("managedFields: %v", entries)
	}
	entry := entries[0]
	c.equal("operation, apiVersion, fieldsType", entry.text("operation")+" "+entry.text("apiVersion")+" "+entry.text("fieldsType"),
		"Update "+w.apiVersion()+" FieldsV1")
	if !date.MatchString(entry.text("time")) {
		c.Errorf("time %q", entry.text("time"))
	}
	path := "fieldsV1.f:" + strings.ReplaceAll(w.color, ".", ".f:")
	if entry.at(path) == nil {
		c.Errorf("no %s in %v", path, entry.at("fieldsV1"))
	}
}

func createManager(c *check) {
	w := c.simple()
	c.equal("managers", managers(w.post(w.object("w-a", "red", nil), "?fieldManager=m1").ok(http.StatusCreated)), []string{"m1 Update"})
	made := w.post(w.object("w-b", "red", nil), "", "User-Agent", "tool/1.2 (linux)").ok(http.StatusCreated)
	c.equal("managers", managers(made), []string{"tool Update"})
}

func createExisting(c *check) {
	for _, w := range c.each() {
		made := w.create("w-a", "red", nil)
		w.post(w.object("w-a", "blue", nil), "").refused(http.StatusConflict, "AlreadyExists").about("w-a", w.group, w.plural)
		c.equal("object", w.read("w-a"), made)
	}
}

func createTerminating(c *check) {
	w := c.simple()
	w.finalized("w-a")
	w.remove("w-a", "", nil).ok(http.StatusOK)
	w.post(w.object("w-a", "blue", nil), "").refused(http.StatusConflict, "AlreadyExists")
}

func generatedName(c *check) {
	w := c.simple()
	body := w.object("", "red", nil).with("metadata.name", nil).with("metadata.generateName", "gen-")
	form := regexp.MustCompile(`^gen-[a-z0-9]{5}$`)
	first, second := w.post(body, "").ok(http.StatusCreated).name(), w.post(body, "").ok(http.StatusCreated).name()
	if !form.MatchString(first) || !form.MatchString(second) || first == second {
		c.Errorf("names %q and %q", first, second)
	}
}

func generatedNameGiven(c *check) {
	w := c.simple()
	made := w.post(w.object("w-a", "red", nil).with("metadata.generateName", "gen-"), "").ok(http.StatusCreated)
	c.equal("name", made.name(), "w-a")
}

func createWithoutType(c *check) {
	w := c.simple()
	w.post(w.jsonOf("w-a"), "").ok(http.StatusCreated)
}

// jsonOf returns the text of a body, so that send sets no Content-Type.
func (w collection) jsonOf(name string) string {
	return `{"kind":"` + w.kind + `","apiVersion":"` + w.apiVersion() + `","metadata":{"name":"` + name + `"}}`
}

func createYAML(c *check) {
	w := c.simple()
	body := "kind: " + w.kind + "\napiVersion: " + w.apiVersion() + "\nmetadata:\n  name: w-a\n  labels: {l: \"1\"}\n"
	a := w.post(body, "", "Content-Type", "application/yaml")
	c.equal("label", a.ok(http.StatusCreated).text("metadata.labels.l"), "1")
	c.equal("Content-Type", a.header.Get("Content-Type"), "application/json")
}

func createDryRun(c *check) {
	w := c.simple()
	s := w.watchFrom()
	made := w.post(w.object("w-a", "red", nil), "?dryRun=All").ok(http.StatusCreated)
	c.equal("resourceVersion", made.version(), "")
	c.equal("color", made.text(w.color), "red")
	w.absent("w-a")
	w.create("end", "red", nil)
	c.equal("events", tell(s.until("end")), "")
	w.post(w.object("end", "red", nil), "?dryRun=All").refused(http.StatusConflict, "AlreadyExists")
}

func createBogusDryRun(c *check) {
	w := c.simple()
	w.post(w.object("w-a", "red", nil), "?dryRun=Nope").refused(http.StatusUnprocessableEntity, "Invalid").cause("dryRun", "FieldValueNotSupported")
	w.absent("w-a")
}

func createLongManager(c *check) {
	w := c.simple()
	w.post(w.object("w-a", "red", nil), "?fieldManager="+strings.Repeat("m", 129)).
		refused(http.StatusUnprocessableEntity, "Invalid").cause("fieldManager", "FieldValueTooLong")
	w.post(w.object("w-a", "red", nil), "?fieldManager="+strings.Repeat("m", 128)).ok(http.StatusCreated)
}

func createRace(c *check) {
	w := c.simple()
	codes := make(chan int, 8)
	for range cap(codes) {
		go func() {
			code := 0
			defer func() { codes <- code }()
			code = w.post(w.object("w-a", "red", nil), "").code
		}()
	}
	got := map[int]int{}
	for range cap(codes) {
		got[<-codes]++
	}
	c.equal("codes", got, map[int]int{http.StatusCreated: 1, http.StatusConflict: cap(codes) - 1})
}

func createNamespaces(c *check) {
	one, two := c.simple(), c.simple()
	two.ns = c.ns + "-2"
	c.openNamespace(two.ns)
	a, b := one.create("w-a", "red", nil), two.create("w-a", "blue", nil)
	if a.text("metadata.uid") == b.text("metadata.uid") {
		c.Errorf("one uid for two objects")
	}
	c.equal("colors", one.read("w-a").text(one.color)+" "+two.read("w-a").text(two.color), "red blue")
}

func createKeepsText(c *check) {
	w := c.simple()
	for name, text := range map[string]string{"quotes": `"\/<>&'`, "unicode": "grün 漢字 \u2028 🙂", "control": "a\tb\nc\u0001", "spaces": "  x  "} {
		c.equal(name, w.create(name, text, nil).text(w.color), text)
		c.equal(name+" as stored", w.read(name).text(w.color), text)
	}
	n := c.rich()
	made := n.post(n.object("number", "red", nil).with("metadata.annotations", object{"number": "9007199254740993"}).with("spec.replicas", 2147483647), "")
	c.equal("replicas", made.ok(http.StatusCreated).text("spec.replicas"), "2147483647")
}

func createNowhere(c *check) {
	w := collection{c, c.cast.simple, c.ns + "-nowhere"}
	a := w.post(w.object("w-a", "red", nil), "")
	if a.code == http.StatusCreated {
		w.remove("w-a", "", nil)
		c.NotRun("the server does not enforce namespaces")
	}
	a.refused(http.StatusNotFound, "NotFound").about(w.ns, "", "namespaces")
}

func createNulls(c *check) {
	w := c.simple()
	nulls := object{"l": nil, "k": "x"}
	for name, send := range map[string]func(object) answer{
		"w-post": func(o object) answer { return w.post(o, "") },
		"w-apply": func(o object) answer {
			w.create("w-apply", "red", nil)
			return w.patch("w-apply?fieldManager=m", applyPatch, o)
		},
	} {
		a := send(w.object(name, "red", nulls).with("metadata.annotations", nulls))
		c.equal("code", a.code/100, 2)
		o := w.read(name)
		c.equal("labels", o.at("metadata.labels"), any(map[string]any{"l": "", "k": "x"}))
		c.equal("annotations", o.at("metadata.annotations"), any(map[string]any{"l": "", "k": "x"}))
	}
}
