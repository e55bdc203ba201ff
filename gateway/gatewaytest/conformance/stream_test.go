package conformance

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// stream is an open watch.
type stream struct {
	c        *check
	response *http.Response
	reader   *bufio.Reader
}

// event is one line of a watch.
type event struct {
	kind   string // ADDED, MODIFIED, DELETED, BOOKMARK, ERROR
	object object
	line   string
}

func (e event) String() string { return strings.TrimSpace(e.kind + " " + e.object.name()) }

const endAnnotation = "k8s.io/initial-events-end"

// isEnd reports whether the event is the bookmark after the initial events.
func (e event) isEnd() bool {
	return e.kind == "BOOKMARK" && e.object.text("metadata.annotations", endAnnotation) == "true"
}

// watch opens a watch, which must succeed. It ends with the check, at the latest.
func (w collection) watch(pairs ...string) *stream {
	w.c.t.Helper()
	return w.c.stream(w.path(query(append([]string{"watch", "1"}, pairs...)...)))
}

// watchFrom opens a watch of everything later than a list that it makes.
func (w collection) watchFrom(pairs ...string) *stream {
	w.c.t.Helper()
	return w.watch(append([]string{"resourceVersion", w.list("").version()}, pairs...)...)
}

// stream opens a URL that must be a watch.
func (c *check) stream(path string, header ...string) *stream {
	c.t.Helper()
	response := c.send(http.MethodGet, path, nil, header...)
	c.t.Cleanup(func() { _ = response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(response.Body, 400)) // the available part, for the message
		c.Fatalf("%s: code %d: %s", path, response.StatusCode, body)
	}
	return &stream{c, response, bufio.NewReader(response.Body)}
}

// read waits for an event; false: the stream has ended cleanly.
func (s *stream) read() (event, bool) {
	s.c.t.Helper()
	line, err := s.reader.ReadString('\n')
	if errors.Is(err, io.EOF) && line == "" {
		return event{}, false
	}
	if err != nil {
		s.c.Fatalf("watch: %v after %q", err, line)
	}
	parsed, err := parseObject(line)
	if err != nil {
		s.c.Fatalf("a line of a watch is not JSON: %v: %.400s", err, line)
	}
	body, _ := parsed["object"].(map[string]any)
	return event{parsed.text("type"), body, line}, true
}

// next waits for an event, which is required.
func (s *stream) next() event {
	s.c.t.Helper()
	e, ok := s.read()
	if !ok {
		s.c.Fatalf("the watch has ended, want an event")
	}
	return e
}

// expect requires events, each in the form "TYPE name".
func (s *stream) expect(want ...string) []event {
	s.c.t.Helper()
	var got []event
	for range want {
		got = append(got, s.next())
	}
	s.c.equal("events", tell(got), tell(want))
	return got
}

// until reads up to an event about an object, without that event.
func (s *stream) until(name string) []event {
	s.c.t.Helper()
	return s.upTo(func(e event) bool { return e.object.name() == name })
}

// upTo reads up to an event, without that event.
func (s *stream) upTo(last func(event) bool) []event {
	s.c.t.Helper()
	var got []event
	for {
		e := s.next()
		if last(e) {
			return got
		}
		got = append(got, e)
	}
}

// initial returns the events before the end bookmark, and the bookmark.
func (s *stream) initial() ([]event, event) {
	s.c.t.Helper()
	var end event
	got := s.upTo(func(e event) bool { end = e; return e.isEnd() })
	return got, end
}

// rest returns all events until the stream ends, which it must do cleanly.
func (s *stream) rest() []event {
	s.c.t.Helper()
	var got []event
	for e, ok := s.read(); ok; e, ok = s.read() {
		got = append(got, e)
	}
	return got
}

// tell formats events for a comparison.
func tell[T any](events []T) string {
	told := make([]string, 0, len(events))
	for _, e := range events {
		told = append(told, fmt.Sprint(e))
	}
	return strings.Join(told, ", ")
}

// kinds returns the types of events.
func kinds(events []event) []string {
	var out []string
	for _, e := range events {
		if !slices.Contains(out, e.kind) {
			out = append(out, e.kind)
		}
	}
	return out
}
