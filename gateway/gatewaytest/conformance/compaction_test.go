package conformance

import (
	"net/http"
)

var compactions = []statement{
	{"Exact at a revision that is compacted is 410 Expired", exactCompacted},
	{"a limit at a revision that is compacted is 410 Expired", legacyExactCompacted},
	{"NotOlderThan never expires", notOlderThanCompacted},
	{"a page whose revision is compacted is 410 Expired with a token to continue with", pageCompacted},
	{"the token of an expired page gives the rest as it is now, after the same position", expiredTokenGoesOn},
	{"a watch from a revision that is compacted is one ERROR 410 Expired in the stream, and its end", watchCompacted},
	{"a revision that is not compacted is served as before", notCompacted},
}

// expires repeats a request until its revision has expired, because a server may serve from its memory for a while.
func (c *check) expires(path string) refusal {
	c.t.Helper()
	c.eventually("410 of "+path, func() bool { return c.get(path).code == http.StatusGone })
	return c.get(path).refused(http.StatusGone, "Expired")
}

func exactCompacted(c *check) {
	w := c.simple()
	w.five()
	at := w.list("")
	w.paint("w-a", "pink")
	c.compact()
	c.expires(w.path(exactly(at.version())))
}

func legacyExactCompacted(c *check) {
	w := c.simple()
	w.five()
	at := w.list("")
	w.paint("w-a", "pink")
	c.compact()
	c.expires(w.path("?limit=2&resourceVersion=" + at.version()))
}

func notOlderThanCompacted(c *check) {
	w := c.simple()
	w.five()
	at := w.list("")
	w.paint("w-a", "pink")
	c.compact()
	for _, rest := range []string{"", "&resourceVersionMatch=NotOlderThan"} {
		c.equal("names", len(names(w.list("?resourceVersion="+at.version()+rest))), 5)
	}
	c.get(w.named("w-a", "?resourceVersion="+at.version())).ok(http.StatusOK)
}

// expiredPage returns the refusal of the second page, after w-b.
func (w collection) expiredPage() refusal {
	w.c.t.Helper()
	token := w.page("2", "").text("metadata.continue")
	w.create("w-cc", "red", nil)
	w.remove("w-d", "", nil).ok(http.StatusOK)
	w.c.compact()
	return w.c.expires(w.path(query("limit", "2", "continue", token)))
}

func pageCompacted(c *check) {
	w := c.simple()
	w.five()
	if status := w.expiredPage(); status.text("metadata.continue") == "" {
		c.Errorf("no token: %v", status.at("metadata"))
	}
}

func expiredTokenGoesOn(c *check) {
	w := c.simple()
	w.five()
	status := w.expiredPage()
	now := w.list("")
	second := w.page("2", status.text("metadata.continue"))
	c.equal("names", names(second), []string{"w-c", "w-cc"})
	if second.rv() < now.rv() {
		c.Errorf("a page of %s, the newest list is of %s", second.version(), now.version())
	}
	third := w.page("2", second.text("metadata.continue"))
	c.equal("names of the next page", names(third), []string{"w-e"})
	c.equal("resourceVersion of the next page", third.version(), second.version())
}

func watchCompacted(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	c.compact()
	got := w.watch("resourceVersion", "1", "timeoutSeconds", "20").rest()
	if len(got) != 1 || got[0].kind != "ERROR" {
		c.Fatalf("events: %v", got)
	}
	c.wantStatus(got[0].object, http.StatusGone, "Expired")
	for _, more := range []string{"allowWatchBookmarks", "labelSelector"} {
		got := w.watch("resourceVersion", "1", "timeoutSeconds", "20", more, "l").rest()
		c.equal("types with "+more, kinds(got), []string{"ERROR"})
	}
}

func notCompacted(c *check) {
	w := c.simple()
	w.five()
	c.compact()
	at := w.list("")
	w.paint("w-a", "pink")
	c.equal("items", w.list(exactly(at.version())).at("items"), at.at("items"))
	w.watch("resourceVersion", at.version()).expect("MODIFIED w-a")
}
