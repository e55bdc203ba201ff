package robustness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Dialect is the format of a client's watch.
type Dialect string

// The dialects. Clients of event streams and keys resume where the gateway says that they may, which is after a whole revision: later events
// of a broken stream do not count.
const (
	Kubernetes  Dialect = ""
	EventStream Dialect = "event stream" // Kubernetes' frames, for browsers
	Keys        Dialect = "keys"         // of the keys API, which knows no labels
	WebSocket   Dialect = "WebSocket"    // Kubernetes' frames, each a message
)

// request returns the request for a watch of a scope, after a revision.
func (d Dialect) request(scope Scope, from int64, parameters ...string) (path string, header http.Header) {
	header = make(http.Header)
	switch d {
	case Keys:
		path = fmt.Sprintf("/v1/keys%s?watch&prev=1&since=%d", scope.keys(), from)
	case EventStream:
		header.Set("Accept", "text/event-stream")
		header.Set("Last-Event-ID", strconv.FormatInt(from, 10))
		path = scope.URL(append(parameters, "watch", "1")...)
	default:
		path = scope.URL(append(parameters, "watch", "1", "resourceVersion", strconv.FormatInt(from, 10))...)
	}
	return path, header
}

// keys returns the prefix of the keys of a scope, or the key of its object.
func (s Scope) keys() string {
	path := prefix
	if s.Namespace != "" {
		path += s.Namespace + "/"
	}
	return path + s.Name
}

// reading makes frames of the lines of a stream.
type reading struct {
	Dialect
	frames  *frames
	pending []Line // of an incomplete revision
	id      bool   // the current event has one
}

// take reads a line, and returns the frames of complete revisions.
func (r *reading) take(line []byte) (complete []Line, err error) {
	text, whole := line, true
	if r.Dialect == EventStream {
		data, isData := bytes.CutPrefix(line, []byte("data: "))
		switch {
		case bytes.HasPrefix(line, []byte("id: ")):
			r.id = true
			return nil, nil
		case !isData:
			return nil, nil
		}
		text, whole, r.id = data, r.id, false
	}
	frame, err := r.frames.parse(text)
	if err != nil {
		return nil, err
	}
	if r.Dialect == Keys {
		whole = frame.Last || !frame.IsEvent()
	}
	r.pending = append(r.pending, Line{time.Now(), frame})
	if !whole && frame.Type != failed {
		return nil, nil
	}
	complete, r.pending = r.pending, nil
	if frame.Type == failed {
		complete = complete[len(complete)-1:]
	}
	return complete, nil
}

// keyFrame is a line of the keys API.
type keyFrame struct {
	Type     string          `json:"type"`
	Revision int64           `json:"revision"`
	Last     bool            `json:"last"`
	Created  int64           `json:"createRevision"`
	Value    json.RawMessage `json:"value"`
	Prev     *struct {
		Value json.RawMessage `json:"value"`
	} `json:"prev"`
	Error struct {
		Status int `json:"status"`
	} `json:"error"`
}

// frame returns the same frame in Kubernetes' format.
func (k keyFrame) frame() (*Frame, error) {
	f := &Frame{Type: bookmark, Last: k.Last}
	switch {
	case k.Type == failed:
		return &Frame{Type: failed, Code: k.Error.Status}, nil
	case k.Type == "PUT" && k.Created == k.Revision:
		f.Type = added
	case k.Type == "PUT":
		f.Type = modified
	case k.Type == "DELETE" && k.Prev != nil:
		f.Type, k.Value = deleted, k.Prev.Value
	case k.Type != "SYNC" && k.Type != "PROGRESS":
		return nil, fmt.Errorf("frame of type %q, previous value %v", k.Type, k.Prev)
	}
	if f.IsEvent() {
		var err error
		if f.Object, _, err = parseObject(k.Value); err != nil {
			return nil, err
		}
	}
	f.Object.Revision = k.Revision
	return f, nil
}

// isKeyFrame distinguishes the dialects: only Kubernetes' frames have an object.
func isKeyFrame(line []byte) bool {
	text := string(line[:min(40, len(line))])
	return !strings.Contains(text, `"object":`)
}
