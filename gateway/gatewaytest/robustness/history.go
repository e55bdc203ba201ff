package robustness

import (
	"fmt"
	"sync"
	"time"
)

// History has the events of the clients of a gateway, and the other facts about etcd.
type History struct {
	Truth *Truth

	mu          sync.Mutex // guards the fields below while they are recorded
	Watchers    []*Watching
	Lists       []*List // of clients that only list
	Writes      []*Write
	Faults      []Fault
	Compactions []Compaction
}

// Watching has all steps of one client that follows a scope.
type Watching struct {
	Name    string    `json:"name"`
	Scope   Scope     `json:"scope"`
	Steps   []Step    `json:"steps"`
	Quiet   bool      `json:"quiet,omitempty"` // the client expects no changes
	Abandon time.Time `json:"abandon,omitzero"`
}

// Step is a list or a stream: one of the two is nil.
type Step struct {
	List   *List   `json:"list,omitempty"`
	Stream *Stream `json:"stream,omitempty"`
}

// Stream is one watch request and its result.
type Stream struct {
	Gateway int       `json:"gateway"`
	From    int64     `json:"from"` // the resourceVersion of the request
	Sent    time.Time `json:"sent"`
	Opened  time.Time `json:"opened,omitzero"` // when the header arrived; zero: it did not
	Lines   []Line    `json:"lines,omitempty"`
	End     End       `json:"end"`
	Code    int       `json:"code,omitempty"` // of a refusal or an ERROR
	Ended   time.Time `json:"ended,omitzero"`
	Why     string    `json:"why,omitempty"`
}

// Line is a frame, with the time of its arrival.
type Line struct {
	At time.Time `json:"at"`
	*Frame
}

// End is the kind of a stream's end.
type End string

// The ways in which a stream ends.
const (
	Clean       End = "clean"       // the server ended it cleanly
	Cut         End = "cut"         // the connection broke
	Failed      End = "error"       // an ERROR frame, then a clean end
	Refused     End = "refused"     // an HTTP code other than 200
	Unreachable End = "unreachable" // no response at all
	Closed      End = "closed"      // the client ended it
	Malformed   End = "malformed"   // the response is not a watch
)

// Last returns the revision of the last event or bookmark; From when there is none.
func (s *Stream) Last() int64 {
	for i := len(s.Lines) - 1; i >= 0; i-- {
		if s.Lines[i].Type != failed {
			return s.Lines[i].Object.Revision
		}
	}
	return s.From
}

func (s *Stream) String() string {
	return fmt.Sprintf("stream of gateway %d from %d (%d lines, %s)", s.Gateway, s.From, len(s.Lines), s.End)
}

// ListKind is the kind of a list.
type ListKind string

// The kinds of lists, by the parameters of the request.
const (
	Consistent ListKind = "consistent" // no resourceVersion
	Any        ListKind = "any"        // resourceVersion=0
	NotOlder   ListKind = "not-older"
	Exact      ListKind = "exact"
	Paged      ListKind = "pages" // consistent, in several requests
)

// List is a successful list request.
type List struct {
	Reader   string    `json:"reader"`
	Gateway  int       `json:"gateway"`
	Life     int       `json:"life"` // number of the gateway's restarts
	Kind     ListKind  `json:"kind"`
	Scope    Scope     `json:"scope"`
	Asked    int64     `json:"asked,omitempty"`
	Revision int64     `json:"revision"`
	Items    []Object  `json:"items"`
	Age      string    `json:"age,omitempty"`
	Sent     time.Time `json:"sent"`
	Answered time.Time `json:"answered"`
}

func (l *List) String() string {
	return fmt.Sprintf("%s list of %s by %s from gateway %d at %d", l.Kind, l.Scope, l.Reader, l.Gateway, l.Revision)
}

// Outcome is the outcome of a write by its response.
type Outcome string

// The outcomes of writes.
const (
	Acknowledged  Outcome = "acknowledged"
	RefusedWrite  Outcome = "refused" // it was not done
	UnknownResult Outcome = "unknown"
)

// Write is one write and its response.
type Write struct {
	Writer   string    `json:"writer"`
	Verb     string    `json:"verb"`
	Keys     []string  `json:"keys"`
	Value    string    `json:"value,omitempty"`    // unique among all writes; empty: a delete
	Replaces int64     `json:"replaces,omitempty"` // the required revision of the replaced object
	Outcome  Outcome   `json:"outcome"`
	Code     int       `json:"code,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Revision int64     `json:"revision,omitempty"` // zero: the response has none
	Sent     time.Time `json:"sent"`
	Answered time.Time `json:"answered"`
}

// Fault is a fault of the processes.
type Fault struct {
	At   time.Time `json:"at"`
	What string    `json:"what"`
}

// Compaction is a compaction of etcd.
type Compaction struct {
	At       time.Time `json:"at"` // before the request
	Revision int64     `json:"revision"`
}

func (h *History) addWatcher(w *Watching) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Watchers = append(h.Watchers, w)
}

func (h *History) addList(l *List) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Lists = append(h.Lists, l)
}

func (h *History) addWrite(w *Write) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Writes = append(h.Writes, w)
}

func (h *History) addFault(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Faults = append(h.Faults, Fault{time.Now(), what})
}

// compactedAt returns the greatest revision that may have been compacted before a time.
func (h *History) compactedAt(t time.Time) int64 {
	var revision int64
	for _, c := range h.Compactions {
		if c.At.Before(t) {
			revision = max(revision, c.Revision)
		}
	}
	return revision
}
