package conformance

import (
	"net/http"
	"strconv"
	"time"
)

var watchStarts = []statement{
	{"a watch without a resourceVersion begins with all objects, in the order of their keys", startsWithState},
	{"a watch without a resourceVersion has every write acknowledged before it", startsConsistent},
	{"a watch at resourceVersion 0 begins with all objects", startsWithAnyState},
	{"initial events have the objects' own resourceVersions", initialRevisions},
	{"after the initial events a bookmark marks their end, if the client asked for it", legacyEndBookmark},
	{"a watch at a resourceVersion begins after it", startsAfter},
	{"a watch at a resourceVersion that is not reached sends nothing", startsInFuture},
	{"a watch from the future begins when its resourceVersion is reached", futureReached},
	{"sendInitialEvents=false begins now, without the state", startsNow},
	{"sendInitialEvents=false at a resourceVersion begins after it", startsAfterWithoutState},
	{"a resourceVersion that is not a number is 400", badWatchRevision},
	{"watch is off when it is absent, 0 or false, and on otherwise", watchValues},
	{"allowWatchBookmarks reads its values like watch", bookmarkValues},
	{"timeoutSeconds that is not a number is 400 for a watch", badWatchTimeout},
	{"timeout does not bound a watch", timeoutOnWatch},
	{"a continue token with a resourceVersion is ignored", continueOnWatch},
	{"a continue token with the state is 422", continueWithState},
}

func startsWithState(c *check) {
	w := c.simple()
	for _, name := range []string{"c", "a", "b"} {
		w.create(name, "red", nil)
	}
	s := w.watch()
	s.expect("ADDED a", "ADDED b", "ADDED c")
	w.create("0", "red", nil)
	s.expect("ADDED 0")
}

func startsConsistent(c *check) {
	w := c.simple()
	want := []string{}
	for i := range 8 {
		name := "w-" + strconv.Itoa(i)
		w.create(name, "red", nil)
		want = append(want, "ADDED "+name)
		s := w.watch()
		s.expect(want...)
		_ = s.response.Body.Close()
	}
}

func startsWithAnyState(c *check) {
	w := c.simple()
	w.five()
	// The state may be an older one, but the missing objects follow as events.
	w.watch("resourceVersion", "0").expect("ADDED w-a", "ADDED w-b", "ADDED w-c", "ADDED w-d", "ADDED w-e")
}

func initialRevisions(c *check) {
	w := c.simple()
	w.five()
	w.paint("w-b", "pink")
	want := map[string]string{}
	for _, item := range w.list("").list("items") {
		want[item.name()] = item.version()
	}
	for _, e := range w.watch().expect("ADDED w-a", "ADDED w-b", "ADDED w-c", "ADDED w-d", "ADDED w-e") {
		c.equal(e.object.name(), e.object.version(), want[e.object.name()])
	}
}

func legacyEndBookmark(c *check) {
	w := c.simple()
	w.five()
	for _, version := range []string{"", "0"} {
		got, end := w.watch("resourceVersion", version, "allowWatchBookmarks", "true").initial()
		c.equal("events", len(got), 5)
		for _, e := range got {
			if e.object.rv() > end.object.rv() {
				c.Errorf("%v has %s, the bookmark %s", e, e.object.version(), end.object.version())
			}
		}
	}
}

func startsAfter(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	at := w.create("w-b", "red", nil)
	w.create("w-c", "red", nil)
	w.watch("resourceVersion", at.version()).expect("ADDED w-c")
}

func startsInFuture(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	s := w.watch("resourceVersion", farRevision, "timeoutSeconds", "1")
	w.create("w-b", "red", nil)
	c.equal("events", tell(s.rest()), "")
}

func futureReached(c *check) {
	w := c.simple()
	w.create("w-0", "red", nil)
	until := w.list("").rv() + 40
	s := w.watch("resourceVersion", strconv.FormatInt(until, 10))
	for i := 0; w.list("").rv() <= until; i++ {
		w.paint("w-0", "color-"+strconv.Itoa(i))
	}
	w.create("end", "red", nil)
	for _, e := range s.until("end") {
		if e.object.rv() <= until {
			c.Errorf("%v at %s, the watch is after %d", e, e.object.version(), until)
		}
	}
}

func startsNow(c *check) {
	w := c.simple()
	w.five()
	for _, version := range []string{"", "0"} {
		s := w.watch("resourceVersion", version, "sendInitialEvents", "false", "resourceVersionMatch", "NotOlderThan", "allowWatchBookmarks", "true")
		w.create("end"+version, "red", nil)
		for _, e := range s.until("end" + version) {
			if e.kind != "BOOKMARK" && version == "" || e.isEnd() {
				c.Errorf("%v", e)
			}
		}
	}
}

func startsAfterWithoutState(c *check) {
	w := c.simple()
	at := w.create("w-a", "red", nil)
	w.create("w-b", "red", nil)
	w.watch("resourceVersion", at.version(), "sendInitialEvents", "false", "resourceVersionMatch", "NotOlderThan").expect("ADDED w-b")
}

func badWatchRevision(c *check) {
	c.get(c.simple().path("?watch=1&timeoutSeconds=1&resourceVersion=abc")).refused(http.StatusBadRequest, "BadRequest")
}

func watchValues(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	for _, value := range []string{"", "=", "=1", "=yes", "=t", "=true", "=TRUE", "=abc"} {
		c.equal("watch"+value, c.stream(w.path("?timeoutSeconds=30&watch"+value)).next(), "ADDED w-a")
	}
	for _, value := range []string{"=0", "=false", "=FALSE", "=False"} {
		c.equal("watch"+value, c.get(w.path("?watch"+value)).ok(http.StatusOK).text("kind"), w.kind+"List")
	}
}

func bookmarkValues(c *check) {
	w := c.simple()
	for _, value := range []string{"", "1", "yes"} {
		c.equal("after allowWatchBookmarks="+value, w.watch("allowWatchBookmarks", value).next().kind, "BOOKMARK")
	}
	var silent []*stream
	for _, value := range []string{"0", "false", "FALSE"} {
		silent = append(silent, w.watch("allowWatchBookmarks", value))
	}
	w.create("w-a", "red", nil)
	for _, s := range silent {
		s.expect("ADDED w-a")
	}
}

func badWatchTimeout(c *check) {
	c.get(c.simple().path("?watch=1&timeoutSeconds=abc")).refused(http.StatusBadRequest, "BadRequest")
}

func timeoutOnWatch(c *check) {
	w := c.simple()
	s := w.watchFrom("timeout", "100ms", "timeoutSeconds", "2")
	began := time.Now()
	s.rest()
	if lasted := time.Since(began); lasted < time.Second {
		c.Errorf("the watch ended after %v", lasted)
	}
}

func continueOnWatch(c *check) {
	w := c.simple()
	s := w.watchFrom("continue", "whatever")
	w.create("w-a", "red", nil)
	s.expect("ADDED w-a")
}

func continueWithState(c *check) {
	c.get(c.simple().path("?watch=1&timeoutSeconds=1&continue=whatever")).refused(http.StatusUnprocessableEntity, "Invalid")
}
