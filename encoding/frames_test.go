package encoding

import (
	"bytes"
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding/jsontext"
)

func expired() *metav1.Status {
	return &metav1.Status{Status: "Failure", Message: `too old resource version: 1 (361) <"…">`, Reason: "Expired", Code: 410}
}

// TestEvents compares the lines of a watch stream with a golden file, byte for byte.
func TestEvents(t *testing.T) {
	object := []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"7","name":"web"}}`)
	var stream []byte
	for _, eventType := range []EventType{Added, Modified, Deleted} {
		stream = AppendEvent(stream, eventType, object)
	}
	stream = AppendEvent(stream, Bookmark, AppendBookmarkObject(nil, "v1", "Pod", 7, true))
	stream = AppendEvent(stream, Bookmark, AppendBookmarkObject(nil, "example.com/v1", "Widget", 163, false))
	stream = AppendError(stream, expired())
	golden(t, "events", stream)
	for line := range bytes.Lines(stream) {
		if !json.Valid(line) || !bytes.HasSuffix(line, []byte("\n")) {
			t.Errorf("not a line of JSON: %q", line)
		}
	}
}

func TestList(t *testing.T) {
	remaining := int64(3)
	var lists []byte
	for _, list := range []struct {
		meta  ListMeta
		items []string
	}{
		{meta: ListMeta{APIVersion: "v1", Kind: "PodList", ResourceVersion: 12}},
		{ListMeta{APIVersion: "v1", Kind: "PodList", ResourceVersion: 12, Continue: "a\"b", RemainingItemCount: &remaining}, []string{`{"a":1}`, `{"b":2}`}},
	} {
		start := len(lists)
		lists = AppendListHead(lists, list.meta)
		for i, item := range list.items {
			if i > 0 {
				lists = append(lists, ',')
			}
			lists = append(lists, item...)
		}
		lists = AppendListTail(lists)
		if !json.Valid(lists[start:]) {
			t.Errorf("not JSON: %s", lists[start:])
		}
	}
	golden(t, "lists", lists)
}

func TestStatus(t *testing.T) {
	notFound := &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Other"},
		Status:   "Failure", Message: `pods "web" not found`, Reason: "NotFound", Code: 404,
		Details: &metav1.StatusDetails{Name: "web", Kind: "pods", RetryAfterSeconds: 1,
			Causes: []metav1.StatusCause{{Type: "FieldValueInvalid", Message: "bad", Field: "metadata.name"}}},
	}
	statuses := AppendStatus(nil, expired())
	line := AppendStatus(nil, notFound)
	if notFound.Kind != "Other" {
		t.Error("AppendStatus modified its argument")
	}
	pretty, err := jsontext.Indent(line)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "statuses", append(append(statuses, line...), pretty...))
	if _, err := jsontext.Indent([]byte(`{`)); err == nil {
		t.Error("Indent accepts malformed JSON")
	}
}

// TestAppendEventAllocates checks that a frame allocates no memory besides its bytes.
func TestAppendEventAllocates(t *testing.T) {
	frame, object := make([]byte, 0, 1024), []byte(`{}`)
	if n := testing.AllocsPerRun(100, func() { frame = AppendEvent(frame[:0], Added, object) }); n != 0 {
		t.Errorf("AppendEvent: %v allocations", n)
	}
	if n := testing.AllocsPerRun(100, func() { frame = AppendBookmarkObject(frame[:0], "v1", "Pod", 7, true) }); n != 0 {
		t.Errorf("AppendBookmarkObject: %v allocations", n)
	}
}
