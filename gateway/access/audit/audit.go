// Package audit writes down who asked for what, and what became of it: one line of JSON for each request, and two for a watch, in
// the form of Kubernetes' audit log. A record holds no value of any object, no body and no credential.
package audit

import (
	"encoding/json"
	"io"
	"strings"
	"time"
)

// Level is how much a record says.
type Level string

// The levels.
const (
	None     Level = "none"     // there are no records
	Metadata Level = "metadata" // user, request, time and result
	Request  Level = "request"  // the query as well, in which selectors stand, and the size of the body
)

// Stages of a request that are recorded.
const (
	Started  = "ResponseStarted"  // a watch begins
	Complete = "ResponseComplete" // it is answered, or the watch has ended
)

// Record is one line. The names are those of audit.k8s.io/v1.
type Record struct {
	Kind        string            `json:"kind"`
	APIVersion  string            `json:"apiVersion"`
	Level       string            `json:"level"`
	ID          string            `json:"auditID"`
	Stage       string            `json:"stage"`
	URI         string            `json:"requestURI"`
	Verb        string            `json:"verb"`
	User        User              `json:"user"`
	Addresses   []string          `json:"sourceIPs,omitempty"`
	Agent       string            `json:"userAgent,omitempty"`
	Object      *Object           `json:"objectRef,omitempty"`
	Status      *Status           `json:"responseStatus,omitempty"`
	Received    time.Time         `json:"requestReceivedTimestamp"`
	At          time.Time         `json:"stageTimestamp"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// User is who asked; empty where that was not found out.
type User struct {
	Name   string   `json:"username,omitempty"`
	UID    string   `json:"uid,omitempty"`
	Groups []string `json:"groups,omitempty"`
}

// Object is the object, or the collection, of a request.
type Object struct {
	Resource    string `json:"resource,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
	Name        string `json:"name,omitempty"`
	Group       string `json:"apiGroup,omitempty"`
	Subresource string `json:"subresource,omitempty"`
}

// Status is the result of a request.
type Status struct {
	Code int `json:"code"`
}

// Log is where records go.
type Log struct {
	level Level
	to    io.Writer
}

// New makes a Log that writes each record with one Write, which must not wait: requests wait for it.
func New(level Level, to io.Writer) *Log { return &Log{level, to} }

// Full reports whether records say all that they can.
func (l *Log) Full() bool { return l.level == Request }

// The maximum lengths of texts of clients, in bytes.
const (
	maxURI   = 4 << 10
	maxAgent = 256
)

// Write writes a record, after it has set the common fields.
func (l *Log) Write(r Record) {
	r.Kind, r.APIVersion, r.Level = "Event", "audit.k8s.io/v1", "Metadata"
	if l.Full() {
		r.Level = "Request"
	}
	r.URI, r.Agent = cut(r.URI, maxURI), cut(r.Agent, maxAgent)
	for name, text := range r.Annotations {
		r.Annotations[name] = cut(text, maxURI)
	}
	line, err := json.Marshal(r)
	if err != nil {
		return // not reached: there is nothing in a record that JSON cannot say
	}
	_, _ = l.to.Write(append(line, '\n')) // the writer counts lost records
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
