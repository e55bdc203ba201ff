package conformance

import (
	"net/http"
	"strconv"
	"time"
)

var revisions = []statement{
	{"a list at resourceVersion 0 is some state, whole, with its resourceVersion", anyState},
	{"a list at a resourceVersion is not older than that", notOlderThan},
	{"NotOlderThan is the newest state, not the one of the past", notOlderThanIsNew},
	{"Exact is the state of exactly that revision, after later updates and deletes, too", exactState},
	{"Exact at the newest revision is the newest state", exactNow},
	{"a limit and a resourceVersion without a match mean Exact", legacyExact},
	{"Exact with a limit is a page whose token stays at that revision", exactPages},
	{"NotOlderThan respects a limit", notOlderThanLimit},
	{"Exact with a label selector selects by the labels of that time", exactSelected},
	{"a read at resourceVersion 0 or at one that is reached gives the object", readAtRevision},
	{"a list at a resourceVersion that is not reached is 504 with Retry-After and the cause ResourceVersionTooLarge", listTooLarge},
	{"Exact at a resourceVersion that is not reached is 504, too", exactTooLarge},
	{"a read at a resourceVersion that is not reached is 504, too", readTooLarge},
	{"a list waits for a resourceVersion that is reached in time", waitsForRevision},
	{"a match without a resourceVersion is 422", matchWithoutRevision},
	{"Exact at resourceVersion 0 is 422", exactZero},
	{"a match that does not exist is 422", bogusMatch},
	{"sendInitialEvents on a list is 422", initialEventsOnList},
	{"a resourceVersion that is not a number is 400 for a list", badListRevision},
	{"a resourceVersion that is not a number is 400 for a read", badReadRevision},
}

// farRevision is a revision that no store reaches during the tests.
const farRevision = "9999999999"

func anyState(c *check) {
	w := c.simple()
	w.five()
	c.eventually("five objects at resourceVersion 0", func() bool {
		list := w.list("?resourceVersion=0")
		if list.rv() == 0 {
			c.Fatalf("no resourceVersion: %v", list.at("metadata"))
		}
		return len(names(list)) == 5
	})
	w.list("?resourceVersion=0&resourceVersionMatch=NotOlderThan")
}

func notOlderThan(c *check) {
	w := c.simple()
	for _, name := range []string{"a", "b", "c"} {
		made := w.create(name, "red", nil)
		for _, match := range []string{"", "&resourceVersionMatch=NotOlderThan"} {
			if list := w.list("?resourceVersion=" + made.version() + match); list.rv() < made.rv() {
				c.Errorf("a list of %s, want at least %s", list.version(), made.version())
			}
		}
	}
}

func notOlderThanIsNew(c *check) {
	w := c.simple()
	old := w.create("w-a", "red", nil)
	newer := w.create("w-b", "red", nil)
	c.eventually("the newest state", func() bool {
		list := w.list(query("resourceVersion", old.version(), "resourceVersionMatch", "NotOlderThan"))
		return list.rv() >= newer.rv() && len(names(list)) == 2
	})
}

func exactly(version string) string {
	return "?resourceVersionMatch=Exact&resourceVersion=" + version
}

func exactState(c *check) {
	w := c.simple()
	w.five()
	at := w.list("")
	w.paint("w-a", "pink")
	w.remove("w-b", "", nil).ok(http.StatusOK)
	w.create("w-new", "red", nil)
	list := w.list(exactly(at.version()))
	c.equal("resourceVersion", list.version(), at.version())
	c.equal("items", list.at("items"), at.at("items"))
	c.equal("items again", w.list(exactly(at.version())).at("items"), at.at("items"))
}

func exactNow(c *check) {
	w := c.simple()
	made := w.create("w-a", "red", nil)
	list := w.list(exactly(made.version()))
	c.equal("resourceVersion", list.version(), made.version())
	c.equal("names", names(list), []string{"w-a"})
}

func legacyExact(c *check) {
	w := c.simple()
	w.five()
	at := w.list("")
	w.remove("w-a", "", nil).ok(http.StatusOK)
	list := w.list("?limit=2&resourceVersion=" + at.version())
	c.equal("resourceVersion", list.version(), at.version())
	c.equal("names", names(list), []string{"w-a", "w-b"})
}

func exactPages(c *check) {
	w := c.simple()
	w.five()
	at := w.list("")
	w.remove("w-d", "", nil).ok(http.StatusOK)
	page := w.list(exactly(at.version()) + "&limit=2")
	c.equal("resourceVersion", page.version(), at.version())
	rest := w.list(query("continue", page.text("metadata.continue")))
	c.equal("resourceVersion of the rest", rest.version(), at.version())
	c.equal("names", append(names(page), names(rest)...), []string{"w-a", "w-b", "w-c", "w-d", "w-e"})
}

func notOlderThanLimit(c *check) {
	w := c.simple()
	w.five()
	at := w.list("")
	page := w.list(query("limit", "2", "resourceVersion", at.version(), "resourceVersionMatch", "NotOlderThan"))
	c.equal("names", names(page), []string{"w-a", "w-b"})
	if page.text("metadata.continue") == "" || page.rv() < at.rv() {
		c.Errorf("metadata %v, asked for %s", page.at("metadata"), at.version())
	}
}

func exactSelected(c *check) {
	w := c.simple()
	w.five()
	at := w.list("")
	w.label("w-a", "z")
	c.equal("names", names(w.list(exactly(at.version())+"&labelSelector=l%3Da")), []string{"w-a", "w-c"})
}

func readAtRevision(c *check) {
	w := c.simple()
	made := w.create("w-a", "red", nil)
	c.equal("object", c.get(w.named("w-a", "?resourceVersion="+made.version())).ok(http.StatusOK), made)
	c.eventually("the object at resourceVersion 0", func() bool { return c.get(w.named("w-a", "?resourceVersion=0")).code == http.StatusOK })
}

// tooLarge requires the refusal that client-go's reflectors know, after the server has waited a while.
func tooLarge(c *check, path string) {
	c.t.Helper()
	began := time.Now()
	a := c.get(path)
	status := a.refused(http.StatusGatewayTimeout, "Timeout")
	if waited := time.Since(began); waited > 20*time.Second {
		c.Errorf("after %v", waited)
	}
	c.wantTooLarge(status.object)
	if seconds, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || seconds < 1 {
		c.Errorf("Retry-After: %q", a.header.Get("Retry-After"))
	}
}

func (c *check) wantTooLarge(status object) {
	c.t.Helper()
	causes := status.list("details.causes")
	if len(causes) == 0 || causes[0].text("reason") != "ResourceVersionTooLarge" {
		c.Errorf("causes: %v", status.at("details.causes"))
	}
	if seconds, err := strconv.Atoi(status.text("details.retryAfterSeconds")); err != nil || seconds < 1 {
		c.Errorf("retryAfterSeconds: %v", status.at("details"))
	}
}

func listTooLarge(c *check)  { tooLarge(c, c.simple().path("?resourceVersion="+farRevision)) }
func exactTooLarge(c *check) { tooLarge(c, c.simple().path(exactly(farRevision))) }

func readTooLarge(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	tooLarge(c, w.named("w-a", "?resourceVersion="+farRevision))
}

func waitsForRevision(c *check) {
	w := c.simple()
	next := strconv.FormatInt(w.list("").rv()+1, 10)
	came := make(chan answer, 1)
	go func() { came <- c.get(w.path("?resourceVersion=" + next)) }()
	w.create("w-a", "red", nil)
	select {
	case a := <-came:
		a.ok(http.StatusOK)
	case <-c.ctx.Done():
		c.Fatalf("no answer")
	}
}

// badListOptions requires the refusal of a combination of parameters.
func badListOptions(c *check, parameters, field, kind string) {
	c.t.Helper()
	status := c.get(c.simple().path(parameters)).refused(http.StatusUnprocessableEntity, "Invalid").cause(field, kind)
	c.equal("details", status.text("details.group")+" "+status.text("details.kind"), "meta.k8s.io ListOptions")
}

func matchWithoutRevision(c *check) {
	for _, match := range []string{"Exact", "NotOlderThan"} {
		badListOptions(c, "?resourceVersionMatch="+match, "resourceVersionMatch", "FieldValueForbidden")
	}
}

func exactZero(c *check) {
	badListOptions(c, exactly("0"), "resourceVersionMatch", "FieldValueForbidden")
}

func bogusMatch(c *check) {
	badListOptions(c, "?resourceVersion=1&resourceVersionMatch=Bogus", "resourceVersionMatch", "FieldValueNotSupported")
}

func initialEventsOnList(c *check) {
	badListOptions(c, "?sendInitialEvents=true", "sendInitialEvents", "FieldValueForbidden")
}

func badListRevision(c *check) {
	for _, version := range []string{"abc", "-1", "1.5"} {
		c.get(c.simple().path("?resourceVersion="+version)).refused(http.StatusBadRequest, "BadRequest")
	}
}

func badReadRevision(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	c.get(w.named("w-a", "?resourceVersion=abc")).refused(http.StatusBadRequest, "BadRequest")
}
