package conformance

import (
	"net/http"
)

var pages = []statement{
	{"a page has its limit, a token and how many items remain", firstPage},
	{"the next page begins where the last one ended, at the same resourceVersion", nextPage},
	{"the last page has no token and no remainingItemCount", lastPage},
	{"a token without a limit gives all the rest", allTheRest},
	{"pages do not show writes between them", pagesAreASnapshot},
	{"a limit as large as the list needs no token", exactLimit},
	{"limit 0 and limit -1 are no limit", noLimit},
	{"at resourceVersion 0 a limit may be ignored, but nothing is lost", limitAtZero},
	{"a token and resourceVersion 0 are accepted together", tokenAtZero},
	{"a token and another resourceVersion are 400", tokenAndRevision},
	{"a token and a match are 422", tokenAndMatch},
	{"a token that is not one is 400", garbageToken},
	{"with a label selector a page is filled with items that match", selectedPages},
	{"with a selector there is no remainingItemCount", selectedCount},
	{"with a field selector a page is filled with items that match", fieldSelectedPages},
	{"pages of all namespaces have the objects of each", pagesOfAllNamespaces},
	{"a limit on a watch is ignored", limitOnWatch},
}

// page returns a list with a limit and an optional token.
func (w collection) page(limit, token string, more ...string) object {
	w.c.t.Helper()
	pairs := append([]string{"limit", limit}, more...)
	if token != "" {
		pairs = append(pairs, "continue", token)
	}
	return w.list(query(pairs...))
}

func firstPage(c *check) {
	w := c.simple()
	w.five()
	page := w.page("2", "")
	c.equal("names", names(page), []string{"w-a", "w-b"})
	c.equal("remainingItemCount", page.text("metadata.remainingItemCount"), "3")
	if page.text("metadata.continue") == "" {
		c.Errorf("no token: %v", page.at("metadata"))
	}
}

func nextPage(c *check) {
	w := c.simple()
	w.five()
	first := w.page("2", "")
	second := w.page("2", first.text("metadata.continue"))
	c.equal("names", names(second), []string{"w-c", "w-d"})
	c.equal("resourceVersion", second.version(), first.version())
	c.equal("remainingItemCount", second.text("metadata.remainingItemCount"), "1")
}

func lastPage(c *check) {
	w := c.simple()
	w.five()
	first := w.page("4", "")
	last := w.page("4", first.text("metadata.continue"))
	c.equal("names", names(last), []string{"w-e"})
	c.equal("resourceVersion", last.version(), first.version())
	c.equal("token", last.text("metadata.continue"), "")
	if last.has("metadata.remainingItemCount") {
		c.Errorf("metadata: %v", last.at("metadata"))
	}
}

func allTheRest(c *check) {
	w := c.simple()
	w.five()
	rest := w.list(query("continue", w.page("2", "").text("metadata.continue")))
	c.equal("names", names(rest), []string{"w-c", "w-d", "w-e"})
	c.equal("token", rest.text("metadata.continue"), "")
}

func pagesAreASnapshot(c *check) {
	w := c.simple()
	w.five()
	first := w.page("2", "")
	w.remove("w-d", "", nil).ok(http.StatusOK)
	w.create("w-cc", "red", nil)
	w.paint("w-c", "pink")
	second := w.page("10", first.text("metadata.continue"))
	c.equal("names", names(second), []string{"w-c", "w-d", "w-e"})
	c.equal("color of w-c", second.list("items")[0].text(w.color), "red")
	c.equal("resourceVersion", second.version(), first.version())
}

func exactLimit(c *check) {
	w := c.simple()
	w.five()
	for _, limit := range []string{"5", "6"} {
		page := w.page(limit, "")
		c.equal("items and token", len(names(page)), 5)
		c.equal("token", page.text("metadata.continue"), "")
	}
}

func noLimit(c *check) {
	w := c.simple()
	w.five()
	for _, limit := range []string{"0", "-1"} {
		page := w.page(limit, "")
		c.equal("items", len(names(page)), 5)
		c.equal("token", page.text("metadata.continue"), "")
	}
}

func limitAtZero(c *check) {
	w := c.simple()
	w.five()
	c.eventually("five objects in the pages at resourceVersion 0", func() bool {
		page := w.page("2", "", "resourceVersion", "0")
		got := names(page)
		for token := page.text("metadata.continue"); token != ""; token = page.text("metadata.continue") {
			page = w.page("2", token)
			got = append(got, names(page)...)
		}
		return len(got) == 5
	})
}

func tokenAtZero(c *check) {
	w := c.simple()
	w.five()
	page := w.page("2", w.page("2", "").text("metadata.continue"), "resourceVersion", "0")
	c.equal("names", names(page), []string{"w-c", "w-d"})
}

func tokenAndRevision(c *check) {
	w := c.simple()
	w.five()
	first := w.page("2", "")
	c.get(w.path(query("continue", first.text("metadata.continue"), "resourceVersion", first.version()))).
		refused(http.StatusBadRequest, "BadRequest")
}

func tokenAndMatch(c *check) {
	w := c.simple()
	w.five()
	token := w.page("2", "").text("metadata.continue")
	for _, match := range []string{"Exact", "NotOlderThan"} {
		c.get(w.path(query("continue", token, "resourceVersionMatch", match))).
			refused(http.StatusUnprocessableEntity, "Invalid").cause("resourceVersionMatch", "FieldValueForbidden")
	}
}

func garbageToken(c *check) {
	for _, token := range []string{"garbage", "e30", "!!!", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MCwic3RhcnQiOiJhIn0"} {
		c.get(c.simple().path(query("limit", "2", "continue", token))).refused(http.StatusBadRequest, "BadRequest")
	}
}

func selectedPages(c *check) {
	w := c.simple()
	w.five()
	first := w.page("2", "", "labelSelector", "l!=b")
	c.equal("first page", names(first), []string{"w-a", "w-c"})
	second := w.page("2", first.text("metadata.continue"), "labelSelector", "l!=b")
	c.equal("second page", names(second), []string{"w-e"})
	c.equal("token", second.text("metadata.continue"), "")
}

func selectedCount(c *check) {
	w := c.simple()
	w.five()
	page := w.page("1", "", "labelSelector", "l=a")
	if page.has("metadata.remainingItemCount") || page.text("metadata.continue") == "" {
		c.Errorf("metadata: %v", page.at("metadata"))
	}
}

func fieldSelectedPages(c *check) {
	w := c.simple()
	w.five()
	first := w.page("2", "", "fieldSelector", w.color+"=red")
	c.equal("first page", names(first), []string{"w-a", "w-c"})
	second := w.page("2", first.text("metadata.continue"), "fieldSelector", w.color+"=red")
	c.equal("second page", names(second), []string{"w-e"})
}

func pagesOfAllNamespaces(c *check) {
	one, two := c.simple(), c.simple()
	one.ns, two.ns = c.ns+"-1", c.ns+"-2"
	c.openNamespace(one.ns)
	c.openNamespace(two.ns)
	labels := object{"conformance": c.ns}
	for _, w := range []collection{one, two} {
		w.create("a", "red", labels)
		w.create("b", "red", labels)
	}
	var got []string
	for token, more := "", true; more; more = token != "" {
		path := one.collection("") + query("limit", "1", "labelSelector", "conformance="+c.ns, "continue", token)
		page := c.get(path).ok(http.StatusOK)
		for _, item := range page.list("items") {
			got = append(got, item.text("metadata.namespace")[len(c.ns):]+"/"+item.name())
		}
		token = page.text("metadata.continue")
	}
	c.equal("objects", got, []string{"-1/a", "-1/b", "-2/a", "-2/b"})
}

func limitOnWatch(c *check) {
	w := c.simple()
	w.five()
	w.watch("limit", "1").expect("ADDED w-a", "ADDED w-b", "ADDED w-c", "ADDED w-d", "ADDED w-e")
}
