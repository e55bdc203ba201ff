package main

import (
	"bytes"
	"strconv"
)

// watcher is one client of a watch. Its events are in sequence.
type watcher struct {
	sequence
	fleet *fleet
	lines lines
	state bool // it has requested the state first, which is ordered by name and ends with a bookmark
}

func newWatcher(f *fleet) *watcher {
	w := &watcher{fleet: f}
	w.lines.handle, w.lines.delimited = w.line, f.form == messages
	return w
}

var (
	resourceVersion = []byte(`"resourceVersion":"`)
	modRevision     = []byte(`"mod_revision":"`)
)

// near is the maximum distance of the resourceVersion from the start of a line.
const near = 400

// line reads a frame of the stream.
func (w *watcher) line(line []byte) {
	data, isData := bytes.CutPrefix(line, eventData)
	switch {
	case w.fleet.form == etcdAnswers:
		w.etcdFrame(line)
	case w.fleet.form == keyLines:
		w.keyFrame(line)
	case w.fleet.form == messages:
		w.message(line)
	case w.fleet.form == eventStream && isData:
		w.kubernetesFrame(data)
	case w.fleet.form != eventStream: // other lines of an event stream are not events
		w.kubernetesFrame(line)
	}
}

// kubernetesFrame reads a line of Kubernetes.
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

// event reads a change of an object, or an object of the state.
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

// etcdFrame reads a response of etcd's own HTTP gateway, which may have several events.
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

// revisionAfter reads the number after a marker, and returns the rest of the line; zero: none.
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

// eventLine returns an event as the gateway writes it, for a peer without objects.
func eventLine(object []byte, revision int64) []byte {
	line := append([]byte(`{"type":"MODIFIED","object":`), withRevision(object, revision)...)
	return append(line, '}', '\n')
}

// withRevision returns the object with a resourceVersion.
func withRevision(object []byte, revision int64) []byte {
	const metadata = `"metadata":{`
	at := bytes.Index(object, []byte(metadata)) + len(metadata)
	with := append(make([]byte, 0, len(object)+40), object[:at]...)
	with = append(with, resourceVersion...)
	with = strconv.AppendInt(with, revision, 10)
	with = append(with, `",`...)
	return append(with, object[at:]...)
}
