// Package audit writes the audit log, in the format of Kubernetes: one line of JSON for each request, with user and result, and two for a
// watch. A record has no values of objects, bodies or credentials.
package audit

import (
	"encoding/json"
	"io"
	"strings"
	"time"
)

// Level is the amount of detail of records.
type Level string

// The levels.
const (
	None     Level = "none"     // no records
	Metadata Level = "metadata" // user, request, time and result
	Request  Level = "request"  // also the query, which has selectors, and the size of the body
)

// The stages of a request that have a record.
const (
	Started  = "ResponseStarted"  // a watch begins
	Complete = "ResponseComplete" // the response, or the watch, has ended
)

// Record is one line, with the fields of audit.k8s.io/v1.
type Record struct {
	Kind         string            `json:"kind"`
	APIVersion   string            `json:"apiVersion"`
	Level        string            `json:"level"`
	ID           string            `json:"auditID"`
	Stage        string            `json:"stage"`
	URI          string            `json:"requestURI"`
	Verb         string            `json:"verb"`
	User         User              `json:"user"`
	Impersonated *User             `json:"impersonatedUser,omitempty"` // as whom the user acts
	Addresses    []string          `json:"sourceIPs,omitempty"`
	Agent        string            `json:"userAgent,omitempty"`
	Object       *Object           `json:"objectRef,omitempty"`
	Status       *Status           `json:"responseStatus,omitempty"`
	Received     time.Time         `json:"requestReceivedTimestamp"`
	At           time.Time         `json:"stageTimestamp"`
	Annotations  map[string]string `json:"annotations,omitempty"`
}

// User is the user of a request; empty: the request was not authenticated.
type User struct {
	Name   string              `json:"username,omitempty"`
	UID    string              `json:"uid,omitempty"`
	Groups []string            `json:"groups,omitempty"`
	Extra  map[string][]string `json:"extra,omitempty"`
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

// Log writes records.
type Log struct {
	level Level
	to    io.Writer
}

// New returns a Log that calls Write once for each record. Write must not block, because requests wait for it.
func New(level Level, to io.Writer) *Log { return &Log{level, to} }

// Full reports whether records have the details of the level Request.
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
		return // not reached: every record can be encoded
	}
	_, _ = l.to.Write(append(line, '\n')) // the writer counts lost records
}

func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
