package main

import (
	"bytes"
	"fmt"
)

// form is the format of the events of a watch.
type form string

const (
	jsonLines   form = "JSON lines" // of Kubernetes
	eventStream form = "event stream"
	keyLines    form = "lines of keys"
	messages    form = "protobuf"
	etcdAnswers form = "answers of etcd's own HTTP gateway"
)

// path returns the path of a watch of all ConfigMaps in a form, after a revision.
func (f form) path(from int64) string {
	if f == keyLines {
		return fmt.Sprintf("/v1/keys%s?watch&since=%d", configMapsKey, from)
	}
	return fmt.Sprintf("%s?watch=1&resourceVersion=%d", configMapsURL, from)
}

// accept returns the header Accept; empty: none.
func (f form) accept() string {
	switch f {
	case eventStream:
		return "text/event-stream"
	case messages:
		return protobufType + ";stream=watch"
	}
	return ""
}

// flags returns the flags that a gateway needs for the form.
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

// keyFrame reads a line about a key. Other lines are progress of the watch.
func (w *watcher) keyFrame(line []byte) {
	switch {
	case bytes.HasPrefix(line, []byte(`{"type":"PUT"`)), bytes.HasPrefix(line, []byte(`{"type":"DELETE"`)):
		revision, _ := revisionAfter(line[:min(near, len(line))], keyRevision)
		w.event(revision)
	case bytes.HasPrefix(line, []byte(`{"type":"ERROR"`)):
		w.fail("%.300s", line)
	}
}
