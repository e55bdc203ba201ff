package main

import (
	"strings"
	"testing"

	"revtail/encoding/protobuf"
)

// TestWatcherReadsMessages checks events in protobuf, in pieces of any size.
func TestWatcherReadsMessages(t *testing.T) {
	kind := protobuf.KindOf("v1", "ConfigMap")
	frame := func(event, object string) []byte {
		encoded, err := kind.AppendObject(nil, []byte(object))
		if err != nil {
			t.Fatal(err)
		}
		return protobuf.AppendFrame(nil, event, encoded)
	}
	stream := append(frame("MODIFIED", string(withRevision(configMap("a", "all", 1), 12))), frame("BOOKMARK", `{"metadata":{"resourceVersion":"99"}}`)...)
	stream = append(stream, frame("DELETED", string(withRevision(configMap("a", "all", 1), 1313)))...)
	for piece := 1; piece <= len(stream); piece++ {
		f := &fleet{form: messages, heads: newBarrier(1), states: newBarrier(1)}
		w := newWatcher(f)
		for rest := stream; len(rest) > 0; rest = rest[min(piece, len(rest)):] {
			w.lines.feed(rest[:min(piece, len(rest))])
		}
		if err := w.check(sequenceOf([]int64{12, 1313})); err != nil {
			t.Fatalf("pieces of %d: %v", piece, err)
		}
		w.lines.feed(frame("ERROR", `{}`))
		if !strings.Contains(w.wrong, "ERROR") {
			t.Fatalf("an ERROR: %q", w.wrong)
		}
	}
}
