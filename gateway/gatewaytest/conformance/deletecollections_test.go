package conformance

import (
	"net/http"
	"slices"
)

var deleteCollections = []statement{
	{"a collection is deleted and answered as a list of its objects", deleteAll},
	{"a label selector spares the others", deleteSelected},
	{"a field selector spares the others", deleteByField},
	{"each object is a DELETED event", deleteAllEvents},
	{"objects with finalizers are marked", deleteAllMarks},
	{"dryRun=All deletes nothing", deleteAllDryRun},
	{"an empty collection is an empty list", deleteNothing},
	{"another namespace is not changed", deleteHereOnly},
	{"a bad propagationPolicy is 422, and nothing is deleted", deleteAllBogus},
}

func (w collection) removeAll(query string) object {
	w.c.t.Helper()
	return w.c.do(http.MethodDelete, w.path(query), nil).ok(http.StatusOK)
}

func deleteAll(c *check) {
	w := c.simple()
	w.five()
	list := w.removeAll("")
	c.equal("kind", list.text("kind")+" "+list.text("apiVersion"), w.kind+"List "+w.apiVersion())
	got := names(list)
	slices.Sort(got)
	c.equal("names", got, []string{"w-a", "w-b", "w-c", "w-d", "w-e"})
	c.equal("left", names(w.list("")), []string{})
}

func deleteSelected(c *check) {
	w := c.simple()
	w.five()
	got := names(w.removeAll(query("labelSelector", "l=a")))
	slices.Sort(got)
	c.equal("deleted", got, []string{"w-a", "w-c"})
	c.equal("left", names(w.list("")), []string{"w-b", "w-d", "w-e"})
}

func deleteByField(c *check) {
	w := c.simple()
	w.five()
	w.removeAll(query("fieldSelector", w.color+"=red"))
	c.equal("left", names(w.list("")), []string{"w-b", "w-d"})
	w.removeAll(query("fieldSelector", "metadata.name=w-b"))
	c.equal("left", names(w.list("")), []string{"w-d"})
}

func deleteAllEvents(c *check) {
	w := c.simple()
	w.five()
	s := w.watchFrom()
	w.removeAll(query("labelSelector", "l"))
	w.create("end", "red", nil)
	var got []string
	for _, e := range s.until("end") {
		got = append(got, e.String())
	}
	slices.Sort(got)
	c.equal("events", got, []string{"DELETED w-a", "DELETED w-b", "DELETED w-c", "DELETED w-d"})
}

func deleteAllMarks(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	w.finalized("w-b")
	w.removeAll("")
	c.equal("left", names(w.list("")), []string{"w-b"})
	if w.read("w-b").text("metadata.deletionTimestamp") == "" {
		c.Errorf("w-b is not marked")
	}
}

func deleteAllDryRun(c *check) {
	w := c.simple()
	w.five()
	w.removeAll("?dryRun=All")
	c.equal("left", len(names(w.list(""))), 5)
}

func deleteNothing(c *check) {
	w := c.simple()
	list := w.removeAll("")
	if items, isArray := list.at("items").([]any); !isArray || len(items) != 0 {
		c.Errorf("%v", list)
	}
}

func deleteHereOnly(c *check) {
	one, two := c.simple(), c.simple()
	two.ns = c.ns + "-2"
	c.openNamespace(two.ns)
	one.create("w-a", "red", nil)
	two.create("w-b", "red", nil)
	one.removeAll("")
	c.equal("left", names(two.list("")), []string{"w-b"})
}

func deleteAllBogus(c *check) {
	w := c.simple()
	w.five()
	c.do(http.MethodDelete, w.path("?propagationPolicy=Bogus"), nil).refused(http.StatusUnprocessableEntity, "Invalid")
	c.equal("left", len(names(w.list(""))), 5)
}
