package main

import (
	"bytes"
	"fmt"
)

// form is how a server writes the events of a watch.
type form string

const (
	jsonLines   form = "JSON lines" // of Kubernetes
	eventStream form = "event stream"
	keyLines    form = "lines of keys"
	etcdAnswers form = "answers of etcd's own HTTP gateway"
)

// path is what a gateway is asked for all ConfigMaps in a form, from a revision on.
func (f form) path(from int64) string {
	if f == keyLines {
		return fmt.Sprintf("/v1/keys%s?watch&since=%d", configMapsKey, from)
	}
	return fmt.Sprintf("%s?watch=1&resourceVersion=%d", configMapsURL, from)
}

// accept is what the header Accept says; empty: nothing.
func (f form) accept() string {
	if f == eventStream {
		return "text/event-stream"
	}
	return ""
}

// flags are what a gateway needs to be started with.
func (f form) flags() []string {
	if f == keyLines {
		return []string{"--keys", configMapsKey}
	}
	return nil
}

var (
	eventData   = []byte("data: ")
	keyRevision = []byte(`"revision":`)
)

// keyFrame takes a line about a key. Others say how far the watch is.
func (w *watcher) keyFrame(line []byte) {
	switch {
	case bytes.HasPrefix(line, []byte(`{"type":"PUT"`)), bytes.HasPrefix(line, []byte(`{"type":"DELETE"`)):
		revision, _ := revisionAfter(line[:min(near, len(line))], keyRevision)
		w.event(revision)
	case bytes.HasPrefix(line, []byte(`{"type":"ERROR"`)):
		w.fail("%.300s", line)
	}
}
