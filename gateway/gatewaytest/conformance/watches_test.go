package conformance

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

var watches = []statement{
	{"the head of a watch comes before any event", headFirst},
	{"a watch is application/json, chunked and not cacheable", watchHeaders},
	{"a watch ends cleanly at timeoutSeconds, without an ERROR", endsAtTimeout},
	{"an event is one line with exactly type and object", eventLines},
	{"create, update and delete come as ADDED, MODIFIED and DELETED, in this order", eventOrder},
	{"ADDED and MODIFIED have the objects that the writes answered", eventsEqualAnswers},
	{"resourceVersions of events grow strictly", revisionsGrow},
	{"DELETED is the last state, with the resourceVersion of the delete", deletedState},
	{"an update that changes nothing sends no event and keeps the resourceVersion", silentNoOp},
	{"a watch of all namespaces has the events of each", watchAllNamespaces},
	{"a watch of a namespace has no events of another one", watchOneNamespace},
	{"events of several watches of one collection are the same", watchersAgree},
	{"a watch continues after an event's resourceVersion without loss or repetition", resumes},
	{"a client that did not ask for bookmarks gets none", noBookmarks},
	{"a bookmark comes before the end of a watch that asked for them", bookmarkBeforeEnd},
	{"a bookmark has kind, apiVersion and resourceVersion, and nothing else", bookmarkContent},
	{"a watch can begin at a bookmark", bookmarkResumes},
	{"an idle watch gets a bookmark within 70 seconds", idleBookmark},
}

func headFirst(c *check) {
	w := c.simple()
	s := w.watchFrom() // the header is here, and no event is due
	w.create("w-a", "red", nil)
	s.expect("ADDED w-a")
}

func watchHeaders(c *check) {
	s := c.simple().watchFrom()
	c.equal("Content-Type", s.response.Header.Get("Content-Type"), "application/json")
	c.equal("Cache-Control", s.response.Header.Get("Cache-Control"), "no-cache, private")
	if s.response.ProtoMajor == 1 {
		c.equal("Transfer-Encoding", s.response.TransferEncoding, []string{"chunked"})
	}
}

func endsAtTimeout(c *check) {
	began := time.Now()
	got := c.simple().watchFrom("timeoutSeconds", "1").rest()
	lasted := time.Since(began)
	c.equal("events", tell(got), "")
	if lasted < time.Second || lasted > 20*time.Second {
		c.Errorf("the watch lasted %v", lasted)
	}
}

func eventLines(c *check) {
	w := c.simple()
	s := w.watchFrom()
	w.create("w-a", "red", nil)
	w.paint("w-a", "blue")
	for _, e := range s.expect("ADDED w-a", "MODIFIED w-a") {
		line, err := parseObject(e.line)
		if err != nil || len(line) != 2 || !strings.HasPrefix(strings.ReplaceAll(e.line, " ", ""), `{"type":"`) {
			c.Errorf("%v: %s", err, e.line)
		}
		c.equal("kind", e.object.text("kind")+" "+e.object.text("apiVersion"), w.kind+" "+w.apiVersion())
	}
}

func eventOrder(c *check) {
	w := c.simple()
	s := w.watchFrom()
	w.create("w-a", "red", nil)
	w.create("w-b", "red", nil)
	w.paint("w-a", "blue")
	w.remove("w-a", "", nil).ok(http.StatusOK)
	w.create("w-a", "green", nil)
	s.expect("ADDED w-a", "ADDED w-b", "MODIFIED w-a", "DELETED w-a", "ADDED w-a")
}

func eventsEqualAnswers(c *check) {
	w := c.simple()
	s := w.watchFrom()
	answers := []object{w.create("w-a", "red", nil), w.paint("w-a", "blue"), w.label("w-a", "x")}
	for i, e := range s.expect("ADDED w-a", "MODIFIED w-a", "MODIFIED w-a") {
		c.equal("object", e.object, answers[i])
	}
}

func revisionsGrow(c *check) {
	w := c.simple()
	from := w.list("").rv()
	s := w.watchFrom()
	w.five()
	w.paint("w-c", "pink")
	w.remove("w-a", "", nil).ok(http.StatusOK)
	for range 7 {
		e := s.next()
		if e.object.rv() <= from {
			c.Errorf("%v has %s after %d", e, e.object.version(), from)
		}
		from = e.object.rv()
	}
}

func deletedState(c *check) {
	w := c.simple()
	made := w.create("w-a", "red", object{"l": "a"})
	s := w.watchFrom()
	w.remove("w-a", "", nil).ok(http.StatusOK)
	gone := s.expect("DELETED w-a")[0].object
	if gone.rv() <= made.rv() {
		c.Errorf("resourceVersion %s, the last write was %s", gone.version(), made.version())
	}
	c.equal("object", gone.with("metadata.resourceVersion", ""), made.with("metadata.resourceVersion", ""))
}

func silentNoOp(c *check) {
	w := c.simple()
	made := w.create("w-a", "red", nil)
	s := w.watchFrom()
	c.equal("after the same patch", w.paint("w-a", "red").version(), made.version())
	c.equal("after an empty patch", w.merge("w-a", object{}).version(), made.version())
	c.equal("after a PUT of the same", w.put(made, "").ok(http.StatusOK).version(), made.version())
	w.create("end", "red", nil)
	c.equal("events", tell(s.until("end")), "")
}

func watchAllNamespaces(c *check) {
	one, two := c.simple(), c.simple()
	two.ns = c.ns + "-2"
	c.openNamespace(two.ns)
	labels := object{"conformance": c.ns}
	from := one.list("").version()
	s := c.stream(one.collection("") + query("watch", "1", "resourceVersion", from, "labelSelector", "conformance="+c.ns))
	one.create("w-a", "red", labels)
	two.create("w-b", "red", labels)
	s.expect("ADDED w-a", "ADDED w-b")
}

func watchOneNamespace(c *check) {
	one, two := c.simple(), c.simple()
	two.ns = c.ns + "-2"
	c.openNamespace(two.ns)
	s := one.watchFrom()
	two.create("other", "red", nil)
	one.create("end", "red", nil)
	c.equal("events", tell(s.until("end")), "")
}

func watchersAgree(c *check) {
	w := c.simple()
	streams := []*stream{w.watchFrom(), w.watchFrom(), w.watchFrom()}
	w.five()
	w.paint("w-a", "pink")
	w.remove("w-b", "", nil).ok(http.StatusOK)
	w.create("end", "red", nil)
	var first string
	for _, s := range streams {
		var lines []string
		for _, e := range s.until("end") {
			lines = append(lines, e.line)
		}
		if first == "" {
			first = strings.Join(lines, "")
		}
		c.equal("events", strings.Join(lines, ""), first)
	}
}

func resumes(c *check) {
	w := c.simple()
	from := w.list("").version()
	w.five()
	w.paint("w-a", "pink")
	w.remove("w-b", "", nil).ok(http.StatusOK)
	all := w.watch("resourceVersion", from).expect("ADDED w-a", "ADDED w-b", "ADDED w-c", "ADDED w-d", "ADDED w-e", "MODIFIED w-a", "DELETED w-b")
	w.create("end", "red", nil)
	for i, e := range all {
		rest := w.watch("resourceVersion", e.object.version()).until("end")
		c.equal("events after "+e.String(), tell(rest), tell(all[i+1:]))
	}
}

func noBookmarks(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	c.equal("events", tell(w.watch("timeoutSeconds", "4").rest()), "ADDED w-a")
}

func bookmarkBeforeEnd(c *check) {
	w := c.simple()
	from := w.list("")
	w.create("w-a", "red", nil)
	got := w.watch("resourceVersion", from.version(), "allowWatchBookmarks", "true", "timeoutSeconds", "4").rest()
	if len(got) < 2 || got[0].String() != "ADDED w-a" || got[len(got)-1].kind != "BOOKMARK" {
		c.Fatalf("events: %v", got)
	}
	if mark := got[len(got)-1].object; mark.rv() < got[0].object.rv() {
		c.Errorf("the bookmark is at %s, the event before it at %s", mark.version(), got[0].object.version())
	}
}

func bookmarkContent(c *check) {
	w := c.simple()
	from := w.list("")
	w.create("w-a", "red", nil)
	got := w.watch("resourceVersion", from.version(), "allowWatchBookmarks", "true", "timeoutSeconds", "4").rest()
	i := slices.IndexFunc(got, func(e event) bool { return e.kind == "BOOKMARK" })
	if i < 0 {
		c.Fatalf("events: %v", got)
	}
	mark := got[i].object
	c.equal("bookmark", mark, object{"apiVersion": w.apiVersion(), "kind": w.kind, "metadata": object{"resourceVersion": mark.version()}})
}

func bookmarkResumes(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	_, end := w.watch("allowWatchBookmarks", "true").initial()
	w.create("w-b", "red", nil)
	w.watch("resourceVersion", end.object.version()).expect("ADDED w-b")
}

func idleBookmark(c *check) {
	if !*longFlag {
		c.NotRun("it takes more than a minute (-long)")
	}
	got := c.simple().watchFrom("allowWatchBookmarks", "true", "timeoutSeconds", "70").rest()
	if len(got) == 0 || !slices.Equal(kinds(got), []string{"BOOKMARK"}) {
		c.Errorf("events: %v", got)
	}
}
