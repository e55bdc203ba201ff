package historyapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/cmd/revtail/client"
)

// The types of entries beside ADDED, MODIFIED and DELETED.
const (
	gapType   = "GAP"
	endType   = "END"
	errorType = "ERROR"
)

// Entry is a line of the history: the change of an object, or a gap.
type Entry struct {
	Type        string          `json:"type"`
	Revision    int64           `json:"revision"` // of a gap: zero
	Time        time.Time       `json:"time"`     // zero: unknown
	Namespace   string          `json:"namespace"`
	Name        string          `json:"name"`
	Manager     string          `json:"manager"` // empty: unknown
	Operation   string          `json:"operation"`
	Subresource string          `json:"subresource"`
	Fields      []string        `json:"fields"`
	Object      json.RawMessage `json:"object"`     // after the change; of DELETED, the last state
	Previous    json.RawMessage `json:"previous"`   // nil: ADDED, or the query does not ask for it
	Unreadable  string          `json:"unreadable"` // why one of the states is missing, if the gateway has it and cannot decrypt it

	// Of a gap: what happened between these revisions is not known.
	After int64 `json:"after"`
	Until int64 `json:"until"`

	Line json.RawMessage `json:"-"` // as the gateway sent it
}

// IsGap reports whether the entry is a gap.
func (e Entry) IsGap() bool { return e.Type == gapType }

// GapText says what a gap is.
func (e Entry) GapText() string {
	return fmt.Sprintf("changes between revisions %d and %d are not known", e.After, e.Until)
}

// Missing says why a state of the change is not there.
func (e Entry) Missing() string {
	if e.Unreadable != "" {
		return e.Unreadable
	}
	return fmt.Sprintf("its values at revision %d are not recorded: the history has those of Secrets only if they are encrypted in etcd", e.Revision)
}

// order is the revision by which the entries of several queries are sorted.
func (e Entry) order() int64 {
	if e.IsGap() {
		return e.Until
	}
	return e.Revision
}

// IsStatus reports whether the change is one of the status alone.
func (e Entry) IsStatus() bool {
	if e.Type != "MODIFIED" || len(e.Fields) == 0 {
		return false
	}
	for _, field := range e.Fields {
		if field != "status" && !strings.HasPrefix(field, "status.") && !strings.HasPrefix(field, "status[") {
			return false
		}
	}
	return true
}

// End is the last line of a page of the history.
type End struct {
	Oldest     int64     `json:"oldest"`     // the history is whole from this revision on, except for gaps
	OldestTime time.Time `json:"oldestTime"` // zero: unknown
	Through    int64     `json:"through"`    // the newest revision whose changes are recorded
	Next       int64     `json:"next"`       // the page ended at the limit, and the next one begins here; zero: there is none
}

// line is what a line can have.
type line struct {
	Entry
	End
}

// parseLine reads a line. end is not nil for the last one.
func parseLine(text []byte) (entry Entry, end *End, err error) {
	var read line
	if err = json.Unmarshal(text, &read); err != nil {
		return entry, nil, fmt.Errorf("a line of the history: %w", err)
	}
	switch read.Type {
	case endType:
		return entry, &read.End, nil
	case errorType:
		var status metav1.Status
		if err = json.Unmarshal(read.Object, &status); err != nil {
			return entry, nil, fmt.Errorf("an ERROR of the history: %w", err)
		}
		return entry, nil, &client.StatusError{Code: int(status.Code), Reason: status.Reason, Message: status.Message}
	case "ADDED", "MODIFIED", "DELETED":
		if read.Revision <= 0 {
			return entry, nil, fmt.Errorf("a line of the history has no revision: %.100s", text)
		}
	case gapType:
	default:
		return entry, nil, fmt.Errorf("a line of the history has the unknown type %q: this revtail is older than the gateway, or what answers is none", read.Type)
	}
	read.Line = text
	return read.Entry, nil, nil
}

// explain says what an error of the history means.
func explain(q Query, err error) error {
	switch {
	case client.HasCode(err, http.StatusNotImplemented):
		return fmt.Errorf("the gateway records no history: start it as 'revtail serve --history-dir DIR': %w", err)
	case client.HasCode(err, http.StatusNotFound):
		return fmt.Errorf("the history of %s: the gateway has none: %w", q.Resource.QualifiedName(), err)
	}
	return fmt.Errorf("the history of %s: %w", q.Resource.QualifiedName(), err)
}
