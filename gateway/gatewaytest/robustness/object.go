package robustness

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
)

// Object has what the validators compare of an object: its path, its label, and a digest of all of it except its resourceVersion.
type Object struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Labels    map[string]string `json:"labels,omitempty"`
	Value     string            `json:"value,omitempty"` // data.value, which is unique
	Digest    uint64            `json:"digest"`
	Revision  int64             `json:"revision,omitempty"` // its resourceVersion; zero: it is a stored value
}

// prefix is the prefix of the keys of the watched resource.
const prefix = "/registry/configmaps/"

// Key returns the key of the object.
func (o *Object) Key() string { return prefix + o.Namespace + "/" + o.Name }

// Frame is one line of a watch.
type Frame struct {
	Type    string
	Object  Object
	Code    int  // of an ERROR
	Initial bool // a BOOKMARK that ends the initial state
	Last    bool // of the keys API: the last frame of the revision
}

// Names of frames.
const (
	added    = "ADDED"
	modified = "MODIFIED"
	deleted  = "DELETED"
	bookmark = "BOOKMARK"
	failed   = "ERROR"
)

// IsEvent reports whether the frame is a change.
func (f *Frame) IsEvent() bool { return f.Type != bookmark && f.Type != failed }

// document has the decoded fields of an object.
type document struct {
	Metadata struct {
		Namespace       string            `json:"namespace"`
		Name            string            `json:"name"`
		ResourceVersion string            `json:"resourceVersion"`
		Labels          map[string]string `json:"labels"`
		Annotations     map[string]string `json:"annotations"`
	} `json:"metadata"`
	Data map[string]string `json:"data"`
	Code int               `json:"code"`
}

func parseObject(text []byte) (Object, document, error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return Object{}, d, fmt.Errorf("object %.200q: %w", text, err)
	}
	digest, err := digestOf(text)
	if err != nil {
		return Object{}, d, err
	}
	o := Object{Namespace: d.Metadata.Namespace, Name: d.Metadata.Name, Labels: d.Metadata.Labels, Value: d.Data["value"], Digest: digest}
	if text := d.Metadata.ResourceVersion; text != "" {
		if o.Revision, err = strconv.ParseInt(text, 10, 64); err != nil {
			return Object{}, d, fmt.Errorf("resourceVersion: %w", err)
		}
	}
	return o, d, nil
}

// digestOf returns the same digest for two documents that differ only in their resourceVersion and their formatting.
func digestOf(text []byte) (uint64, error) {
	var members map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&members); err != nil {
		return 0, err
	}
	if metadata, ok := members["metadata"].(map[string]any); ok {
		delete(metadata, "resourceVersion")
	}
	canonical, err := json.Marshal(members)
	if err != nil {
		return 0, err
	}
	sum := sha256.Sum256(canonical)
	return binary.BigEndian.Uint64(sum[:]), nil
}

// frames caches decoded lines, because hundreds of watchers get the same ones.
type frames struct {
	mu    sync.RWMutex // guards the field below
	known map[string]*Frame
}

func (f *frames) parse(line []byte) (*Frame, error) {
	f.mu.RLock()
	frame, ok := f.known[string(line)]
	f.mu.RUnlock()
	if ok {
		return frame, nil
	}
	frame, err := parseFrame(line)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		f.known = make(map[string]*Frame)
	}
	f.known[string(line)] = frame
	return frame, nil
}

func (f *frames) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.known)
}

func parseFrame(line []byte) (*Frame, error) {
	if isKeyFrame(line) {
		var key keyFrame
		if err := json.Unmarshal(line, &key); err != nil {
			return nil, fmt.Errorf("frame %.200q: %w", line, err)
		}
		return key.frame()
	}
	var raw struct {
		Type   string          `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := json.Unmarshal(line, &raw); err != nil {
		return nil, fmt.Errorf("frame %.200q: %w", line, err)
	}
	object, d, err := parseObject(raw.Object)
	if err != nil {
		return nil, err
	}
	return &Frame{Type: raw.Type, Object: object, Code: d.Code, Initial: d.Metadata.Annotations["k8s.io/initial-events-end"] == "true"}, nil
}

// Scope is the selection of a client: all objects, those of a namespace, or one of them; with a label of a value, or any.
type Scope struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Label     string `json:"label,omitempty"` // key=value
}

// Holds reports whether an object matches.
func (s Scope) Holds(o *Object) bool {
	if o == nil || s.Namespace != "" && s.Namespace != o.Namespace || s.Name != "" && s.Name != o.Name {
		return false
	}
	key, value, selects := strings.Cut(s.Label, "=")
	return !selects || o.Labels[key] == value
}

// URL returns the path and query of the scope, with more parameters.
func (s Scope) URL(parameters ...string) string {
	path := "/api/v1/configmaps"
	if s.Namespace != "" {
		path = "/api/v1/namespaces/" + s.Namespace + "/configmaps"
	}
	query := url.Values{}
	if s.Name != "" {
		query.Set("fieldSelector", "metadata.name="+s.Name)
	}
	if s.Label != "" {
		query.Set("labelSelector", s.Label)
	}
	for i := 0; i < len(parameters); i += 2 {
		query.Set(parameters[i], parameters[i+1])
	}
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

func (s Scope) String() string { return s.URL() }
