package conformance

import (
	"net/http"
)

var watchLists = []statement{
	{"all objects come as ADDED, then the end bookmark, then the changes", watchListWhole},
	{"every event after the end bookmark is later than it", watchListOrder},
	{"of an empty result the end bookmark is the first event", watchListEmpty},
	{"at a resourceVersion the state is not older than that", watchListAt},
	{"at resourceVersion 0 it is some state with its end bookmark", watchListAny},
	{"at a resourceVersion that is not reached it is an ERROR 504 in the stream", watchListTooLarge},
	{"without allowWatchBookmarks there is no bookmark", watchListSilent},
	{"it has every write acknowledged before it", watchListConsistent},
	{"it applies selectors, to the state and to later events", watchListSelected},
	{"the end bookmark has the kind of the resource and the annotation as a string", watchListBookmark},
	{"sendInitialEvents without a match is 422", watchListWithoutMatch},
	{"a match without sendInitialEvents is 422 for a watch", matchOnWatch},
	{"the match Exact is 422 for a watch", exactOnWatch},
}

// watchState opens a WatchList.
func (w collection) watchState(pairs ...string) *stream {
	w.c.t.Helper()
	return w.watch(append([]string{"sendInitialEvents", "true", "resourceVersionMatch", "NotOlderThan", "allowWatchBookmarks", "true"}, pairs...)...)
}

func watchListWhole(c *check) {
	w := c.simple()
	w.five()
	s := w.watchState()
	got, _ := s.initial()
	c.equal("events", tell(got), "ADDED w-a, ADDED w-b, ADDED w-c, ADDED w-d, ADDED w-e")
	w.paint("w-a", "pink")
	w.remove("w-b", "", nil).ok(http.StatusOK)
	s.expect("MODIFIED w-a", "DELETED w-b")
}

func watchListOrder(c *check) {
	w := c.simple()
	w.five()
	s := w.watchState()
	got, end := s.initial()
	for _, e := range got {
		if e.object.rv() > end.object.rv() {
			c.Errorf("%v has %s, the bookmark %s", e, e.object.version(), end.object.version())
		}
	}
	w.paint("w-a", "pink")
	if e := s.expect("MODIFIED w-a")[0]; e.object.rv() <= end.object.rv() {
		c.Errorf("%v has %s, the bookmark %s", e, e.object.version(), end.object.version())
	}
}

func watchListEmpty(c *check) {
	w := c.simple()
	w.five()
	if first := w.watchState("labelSelector", "l=none").next(); !first.isEnd() || first.object.rv() == 0 {
		c.Errorf("%s", first.line)
	}
}

func watchListAt(c *check) {
	w := c.simple()
	w.five()
	at := w.list("")
	got, end := w.watchState("resourceVersion", at.version()).initial()
	c.equal("events", len(got), 5)
	if end.object.rv() < at.rv() {
		c.Errorf("the bookmark has %s, asked for %s", end.object.version(), at.version())
	}
}

func watchListAny(c *check) {
	w := c.simple()
	w.five()
	s := w.watchState("resourceVersion", "0")
	got, end := s.initial()
	if end.object.rv() == 0 {
		c.Errorf("%s", end.line)
	}
	for len(got) < 5 { // objects missing in an older state follow as events
		got = append(got, s.next())
	}
	c.equal("events", tell(got), "ADDED w-a, ADDED w-b, ADDED w-c, ADDED w-d, ADDED w-e")
}

func watchListTooLarge(c *check) {
	w := c.simple()
	got := w.watchState("resourceVersion", farRevision).rest()
	if len(got) != 1 || got[0].kind != "ERROR" {
		c.Fatalf("events: %v", got)
	}
	c.wantStatus(got[0].object, http.StatusGatewayTimeout, "Timeout")
	c.wantTooLarge(got[0].object)
}

func watchListSilent(c *check) {
	w := c.simple()
	w.five()
	s := w.watch("sendInitialEvents", "true", "resourceVersionMatch", "NotOlderThan")
	w.create("w-f", "red", nil)
	s.expect("ADDED w-a", "ADDED w-b", "ADDED w-c", "ADDED w-d", "ADDED w-e", "ADDED w-f")
}

func watchListConsistent(c *check) {
	w := c.simple()
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		made := w.create(name, "red", nil)
		got, end := w.watchState().initial()
		if last := got[max(0, len(got)-1):]; len(last) == 0 || last[0].object.name() != name || end.object.rv() < made.rv() {
			c.Errorf("%s of %s is not in %v before a bookmark of %s", name, made.version(), got, end.object.version())
		}
	}
}

func watchListSelected(c *check) {
	w := c.simple()
	w.five()
	s := w.watchState("labelSelector", "l=a")
	got, _ := s.initial()
	c.equal("events", tell(got), "ADDED w-a, ADDED w-c")
	w.label("w-a", "z")
	w.label("w-b", "a")
	s.expect("DELETED w-a", "ADDED w-b")
}

func watchListBookmark(c *check) {
	w := c.simple()
	_, end := w.watchState().initial()
	metadata := object{"annotations": object{endAnnotation: "true"}, "resourceVersion": end.object.version()}
	c.equal("bookmark", end.object, object{"apiVersion": w.apiVersion(), "kind": w.kind, "metadata": metadata})
	if value, isText := end.object.at("metadata.annotations", endAnnotation).(string); !isText {
		c.Errorf("the annotation is %v", value)
	}
}

func watchListWithoutMatch(c *check) {
	badListOptions(c, "?watch=1&timeoutSeconds=1&sendInitialEvents=true", "resourceVersionMatch", "FieldValueForbidden")
	badListOptions(c, "?watch=1&timeoutSeconds=1&sendInitialEvents=false", "resourceVersionMatch", "FieldValueForbidden")
}

func matchOnWatch(c *check) {
	badListOptions(c, "?watch=1&timeoutSeconds=1&resourceVersionMatch=NotOlderThan", "resourceVersionMatch", "FieldValueForbidden")
}

func exactOnWatch(c *check) {
	const exact = "?watch=1&timeoutSeconds=1&resourceVersion=1&resourceVersionMatch=Exact"
	badListOptions(c, exact+"&sendInitialEvents=true", "resourceVersionMatch", "FieldValueNotSupported")
	badListOptions(c, exact, "resourceVersionMatch", "FieldValueForbidden")
}
