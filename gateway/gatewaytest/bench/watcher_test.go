package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func newTestWatcher() *watcher {
	f := &fleet{heads: newBarrier(1), states: newBarrier(1)}
	return newWatcher(f)
}

func TestWatcherReadsEvents(t *testing.T) {
	w := newTestWatcher()
	w.lines.feed(eventLine(configMap("a", "all", 1), 12))
	w.lines.feed([]byte(`{"type":"BOOKMARK","object":{"kind":"ConfigMap","metadata":{"resourceVersion":"99"}}}` + "\n"))
	w.lines.feed([]byte(`{"type":"DELETED","object":{"metadata":{"name":"a","resourceVersion":"13"},"data":{"x":"\"resourceVersion\":\"1\""}}}` + "\n"))
	if err := w.check(sequenceOf([]int64{12, 13})); err != nil {
		t.Error(err)
	}
}

func TestWatcherRefuses(t *testing.T) {
	for _, test := range []struct{ line, wrong string }{
		{`{"type":"ERROR","object":{"kind":"Status","code":410}}`, "410"},
		{`{"type":"ADDED","object":{"metadata":{"name":"a"}}}`, "without a revision"},
	} {
		w := newTestWatcher()
		w.lines.feed([]byte(test.line + "\n"))
		if !strings.Contains(w.wrong, test.wrong) {
			t.Errorf("%s: %q, want %q", test.line, w.wrong, test.wrong)
		}
	}
}

// TestWatcherReadsAState checks that objects are ordered by name before the bookmark that ends the state.
func TestWatcherReadsAState(t *testing.T) {
	w := newTestWatcher()
	w.state = true
	w.lines.feed(eventLine(configMap("a", "all", 1), 7))
	w.lines.feed(eventLine(configMap("b", "all", 1), 3))
	if err := w.checkState(sequenceOf([]int64{3, 7})); err != nil {
		t.Error(err)
	}
	select {
	case <-w.fleet.states.open:
		t.Error("the state has ended before its bookmark")
	default:
	}
	w.lines.feed([]byte(`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"8","annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n"))
	<-w.fleet.states.open
}

func TestEtcdFrame(t *testing.T) {
	w := newTestWatcher()
	w.fleet.form = etcdAnswers
	w.lines.feed([]byte(`{"result":{"header":{"revision":"4"},"created":true}}` + "\n"))
	w.lines.feed([]byte(`{"result":{"header":{"revision":"6"},"events":[{"kv":{"mod_revision":"5"}},{"kv":{"mod_revision":"6"}}]}}` + "\n"))
	if err := w.check(sequenceOf([]int64{5, 6})); err != nil {
		t.Error(err)
	}
}

// TestObjects checks that objects are JSON of one size, and that an event of a peer has the size of the product's.
func TestObjects(t *testing.T) {
	for name, object := range map[string][]byte{"stored": configMap(objectName(7), targetName(4711), 12), "posted": postedConfigMap("created-1", 3)} {
		if len(object) != objectSize || !json.Valid(object) {
			t.Errorf("%s: %d bytes: %s", name, len(object), object)
		}
	}
	var event struct {
		Type   string
		Object struct {
			Metadata struct{ ResourceVersion, Name string }
		}
	}
	line := eventLine(configMap("a", "all", 1), 4711)
	if err := json.Unmarshal(line, &event); err != nil {
		t.Fatal(err)
	}
	if event.Type != "MODIFIED" || event.Object.Metadata.ResourceVersion != "4711" || event.Object.Metadata.Name != "a" || bytes.Count(line, []byte("\n")) != 1 {
		t.Errorf("%s", line)
	}
	if !json.Valid([]byte(definition(7))) {
		t.Errorf("%s", definition(7))
	}
}

// TestWatcherReadsForms checks that a gateway writes the same events in each form.
func TestWatcherReadsForms(t *testing.T) {
	event := func(revision int64) string { return string(eventLine(configMap("a", "all", 1), revision)) }
	for in, text := range map[form]string{
		eventStream: "retry: 1500\n\nid: 12\ndata: " + event(12) + "\nid: 13\ndata: " + event(13) + "\nid: 14\n\n",
		keyLines: `{"type":"PUT","revision":12,"last":true,"key":"/a","value":{"revision":1}}` + "\n" +
			`{"type":"DELETE","revision":13,"last":true,"key":"/a"}` + "\n" + `{"type":"PROGRESS","revision":14}` + "\n",
	} {
		w := newTestWatcher()
		w.fleet.form = in
		w.lines.feed([]byte(text))
		if err := w.check(sequenceOf([]int64{12, 13})); err != nil {
			t.Errorf("%s: %v", in, err)
		}
	}
	w := newTestWatcher()
	w.fleet.form = keyLines
	if w.lines.feed([]byte(`{"type":"ERROR","status":410}` + "\n")); !strings.Contains(w.wrong, "410") {
		t.Errorf("an error: %q", w.wrong)
	}
}
