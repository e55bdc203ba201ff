package main

import (
	"bytes"
	"strconv"
)

// watcher is one client of a watch. What it has seen is in sequence.
type watcher struct {
	sequence
	fleet *fleet
	lines lines
	state bool // it has asked for the state first, which comes in the order of names, up to a bookmark
}

func newWatcher(f *fleet) *watcher {
	w := &watcher{fleet: f}
	w.lines.handle = w.line
	return w
}

var (
	resourceVersion = []byte(`"resourceVersion":"`)
	modRevision     = []byte(`"mod_revision":"`)
)

// near is how far from the start of a line its resourceVersion stands at most.
const near = 400

// line takes a frame of the stream.
func (w *watcher) line(line []byte) {
	data, isData := bytes.CutPrefix(line, eventData)
	switch {
	case w.fleet.form == etcdAnswers:
		w.etcdFrame(line)
	case w.fleet.form == keyLines:
		w.keyFrame(line)
	case w.fleet.form == eventStream && isData:
		w.kubernetesFrame(data)
	case w.fleet.form != eventStream: // what else an event stream has is no event
		w.kubernetesFrame(line)
	}
}

// kubernetesFrame takes a line of Kubernetes.
func (w *watcher) kubernetesFrame(line []byte) {
	switch {
	case bytes.HasPrefix(line, []byte(`{"type":"BOOKMARK"`)):
		if w.state && bytes.Contains(line, []byte(`"k8s.io/initial-events-end":"true"`)) {
			w.state = false
			w.fleet.stateEnded()
		}
	case bytes.HasPrefix(line, []byte(`{"type":"ERROR"`)):
		w.fail("%.300s", line)
	default:
		revision, _ := revisionAfter(line[:min(near, len(line))], resourceVersion)
		w.event(revision)
	}
}

// event takes a change of an object, or an object of the state.
func (w *watcher) event(revision int64) {
	if revision == 0 {
		w.fail("an event without a revision")
	}
	if w.state {
		w.addAnywhere(revision)
		return
	}
	t := w.fleet.tracker.Load()
	w.add(revision)
	if t != nil {
		t.seen(revision)
	}
}

// etcdFrame takes an answer of etcd's own HTTP gateway, which may hold several events.
func (w *watcher) etcdFrame(line []byte) {
	for {
		revision, rest := revisionAfter(line, modRevision)
		if revision == 0 {
			return
		}
		w.event(revision)
		line = rest
	}
}

// revisionAfter reads the number that follows a marker, and returns what stands behind it; zero: there is none.
func revisionAfter(line, marker []byte) (revision int64, rest []byte) {
	at := bytes.Index(line, marker)
	if at < 0 {
		return 0, nil
	}
	rest = line[at+len(marker):]
	for len(rest) > 0 && '0' <= rest[0] && rest[0] <= '9' {
		revision = revision*10 + int64(rest[0]-'0')
		rest = rest[1:]
	}
	return revision, rest
}

// eventLine writes an event as the gateway does: what a peer sends that knows no objects.
func eventLine(object []byte, revision int64) []byte {
	line := append([]byte(`{"type":"MODIFIED","object":`), withRevision(object, revision)...)
	return append(line, '}', '\n')
}

// withRevision is the object with a resourceVersion.
func withRevision(object []byte, revision int64) []byte {
	const metadata = `"metadata":{`
	at := bytes.Index(object, []byte(metadata)) + len(metadata)
	with := append(make([]byte, 0, len(object)+40), object[:at]...)
	with = append(with, resourceVersion...)
	with = strconv.AppendInt(with, revision, 10)
	with = append(with, `",`...)
	return append(with, object[at:]...)
}
