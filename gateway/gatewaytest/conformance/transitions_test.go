package conformance

import (
	"net/http"
)

var transitions = []statement{
	{"an object that stops matching is DELETED, as it was before, at the event's resourceVersion", stopsMatching},
	{"an object that starts matching is ADDED", startsMatching},
	{"an object that still matches is MODIFIED", keepsMatching},
	{"an object that neither matched nor matches has no event", neverMatches},
	{"an object that matched is DELETED with its last state when it is deleted", deletedWhileMatching},
	{"an object that did not match is deleted without an event", deletedUnmatched},
	{"all transitions in one run, and nothing else", allTransitions},
	{"a field selector has the same transitions", fieldTransitions},
	{"a field selector on the name watches one object", nameWatch},
	{"a label and a field selector have transitions together", joinedTransitions},
	{"a resumed watch has the same transitions", resumedTransitions},
}

// selected opens a watch of l=a on the five objects.
func selected(c *check) (collection, *stream) {
	c.t.Helper()
	w := c.simple()
	w.five()
	return w, w.watchFrom("labelSelector", "l=a")
}

func stopsMatching(c *check) {
	w, s := selected(c)
	moved := w.label("w-a", "z")
	gone := s.expect("DELETED w-a")[0].object
	c.equal("label", gone.text("metadata.labels.l"), "a")
	c.equal("resourceVersion", gone.version(), moved.version())
	w.label("w-c", "z")
	s.expect("DELETED w-c")
}

func startsMatching(c *check) {
	w, s := selected(c)
	moved := w.label("w-b", "a")
	c.equal("object", s.expect("ADDED w-b")[0].object, moved)
}

func keepsMatching(c *check) {
	w, s := selected(c)
	painted := w.paint("w-c", "pink")
	c.equal("object", s.expect("MODIFIED w-c")[0].object, painted)
}

func neverMatches(c *check) {
	w, s := selected(c)
	w.paint("w-d", "pink")
	w.label("w-e", "z")
	w.create("end", "red", object{"l": "a"})
	c.equal("events", tell(s.until("end")), "")
}

func deletedWhileMatching(c *check) {
	w, s := selected(c)
	painted := w.paint("w-c", "pink")
	w.remove("w-c", "", nil).ok(http.StatusOK)
	gone := s.expect("MODIFIED w-c", "DELETED w-c")[1].object
	c.equal("color", gone.text(w.color), "pink")
	if gone.rv() <= painted.rv() {
		c.Errorf("resourceVersion %s, the last write was %s", gone.version(), painted.version())
	}
}

func deletedUnmatched(c *check) {
	w, s := selected(c)
	w.remove("w-b", "", nil).ok(http.StatusOK)
	w.label("w-a", "z")
	w.remove("w-a", "", nil).ok(http.StatusOK)
	w.create("end", "red", object{"l": "a"})
	c.equal("events", tell(s.until("end")), "DELETED w-a")
}

func allTransitions(c *check) {
	w, s := selected(c)
	w.label("w-a", "z")
	w.label("w-b", "a")
	w.paint("w-c", "pink")
	w.paint("w-d", "pink")
	w.remove("w-c", "", nil).ok(http.StatusOK)
	w.create("w-new", "red", object{"l": "a"})
	w.create("end", "red", object{"l": "a"})
	c.equal("events", tell(s.until("end")), "DELETED w-a, ADDED w-b, MODIFIED w-c, DELETED w-c, ADDED w-new")
}

func fieldTransitions(c *check) {
	w := c.simple()
	w.five()
	s := w.watchFrom("fieldSelector", w.color+"=pink")
	w.paint("w-a", "pink")
	w.label("w-a", "z")
	moved := w.paint("w-a", "red")
	w.paint("w-b", "red")
	w.create("end", "pink", nil)
	events := s.until("end")
	c.equal("events", tell(events), "ADDED w-a, MODIFIED w-a, DELETED w-a")
	if len(events) == 3 {
		c.equal("color and resourceVersion", events[2].object.text(w.color)+" "+events[2].object.version(), "pink "+moved.version())
	}
}

func nameWatch(c *check) {
	w := c.simple()
	w.five()
	s := w.watchFrom("fieldSelector", "metadata.name=w-c")
	w.paint("w-a", "pink")
	w.paint("w-c", "pink")
	w.create("w-new", "red", nil)
	w.remove("w-c", "", nil).ok(http.StatusOK)
	w.create("w-c", "green", nil)
	s.expect("MODIFIED w-c", "DELETED w-c", "ADDED w-c")
}

func joinedTransitions(c *check) {
	w := c.simple()
	w.five()
	s := w.watchFrom("labelSelector", "l=a", "fieldSelector", w.color+"=pink")
	w.paint("w-a", "pink")
	w.paint("w-b", "pink")
	w.label("w-b", "a")
	w.label("w-a", "z")
	w.create("end", "pink", object{"l": "a"})
	c.equal("events", tell(s.until("end")), "ADDED w-a, ADDED w-b, DELETED w-a")
}

func resumedTransitions(c *check) {
	w := c.simple()
	w.five()
	from := w.list("").version()
	w.label("w-a", "z")
	w.label("w-b", "a")
	w.remove("w-c", "", nil).ok(http.StatusOK)
	w.create("end", "red", object{"l": "a"})
	events := w.watch("resourceVersion", from, "labelSelector", "l=a").until("end")
	c.equal("events", tell(events), "DELETED w-a, ADDED w-b, DELETED w-c")
}
