package robustness

import (
	"fmt"
	"sync"
	"time"
)

// History is what the clients of a gateway saw, and what is known of etcd besides.
type History struct {
	Truth *Truth

	mu          sync.Mutex // guards the fields below while they are recorded
	Watchers    []*Watching
	Lists       []*List // of those who only list
	Writes      []*Write
	Faults      []Fault
	Compactions []Compaction
}

// Watching is all that one client did to follow a scope.
type Watching struct {
	Name    string    `json:"name"`
	Scope   Scope     `json:"scope"`
	Steps   []Step    `json:"steps"`
	Quiet   bool      `json:"quiet,omitempty"` // it was not meant to see changes
	Abandon time.Time `json:"abandon,omitzero"`
}

// Step is a list or a stream: one of the two is nil.
type Step struct {
	List   *List   `json:"list,omitempty"`
	Stream *Stream `json:"stream,omitempty"`
}

// Stream is one watch request and what came of it.
type Stream struct {
	Gateway int       `json:"gateway"`
	From    int64     `json:"from"` // the resourceVersion that was asked for
	Sent    time.Time `json:"sent"`
	Opened  time.Time `json:"opened,omitzero"` // when the head of the answer came; zero: it did not
	Lines   []Line    `json:"lines,omitempty"`
	End     End       `json:"end"`
	Code    int       `json:"code,omitempty"` // of a refusal or an ERROR
	Ended   time.Time `json:"ended,omitzero"`
	Why     string    `json:"why,omitempty"`
}

// Line is a frame, and when it came.
type Line struct {
	At time.Time `json:"at"`
	*Frame
}

// End is how a stream ended.
type End string

// The ways in which a stream ends.
const (
	Clean       End = "clean"       // the server ended it in order
	Cut         End = "cut"         // the connection broke
	Failed      End = "error"       // an ERROR frame, then the end in order
	Refused     End = "refused"     // an HTTP code other than 200
	Unreachable End = "unreachable" // no answer at all
	Closed      End = "closed"      // the client had enough
	Malformed   End = "malformed"   // what came is no watch
)

// Last is the revision of the last event or bookmark; From when there is none.
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

// ListKind is what a list may be.
type ListKind string

// The kinds of lists, by what was asked for.
const (
	Consistent ListKind = "consistent" // no resourceVersion
	Any        ListKind = "any"        // resourceVersion=0
	NotOlder   ListKind = "not-older"
	Exact      ListKind = "exact"
)

// List is a list request that was answered with a list.
type List struct {
	Reader   string    `json:"reader"`
	Gateway  int       `json:"gateway"`
	Life     int       `json:"life"` // of the gateway: it counts its restarts
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

// Outcome is what an answer says about a write.
type Outcome string

// The outcomes of writes.
const (
	Acknowledged  Outcome = "acknowledged"
	RefusedWrite  Outcome = "refused" // it was not done
	UnknownResult Outcome = "unknown"
)

// Write is one write and its answer.
type Write struct {
	Writer   string    `json:"writer"`
	Verb     string    `json:"verb"`
	Keys     []string  `json:"keys"`
	Value    string    `json:"value,omitempty"`    // what no other write writes; empty: a delete
	Replaces int64     `json:"replaces,omitempty"` // the revision that it was told to replace or delete
	Outcome  Outcome   `json:"outcome"`
	Code     int       `json:"code,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Revision int64     `json:"revision,omitempty"` // zero: the answer does not say
	Sent     time.Time `json:"sent"`
	Answered time.Time `json:"answered"`
}

// Fault is something that was done to the processes.
type Fault struct {
	At   time.Time `json:"at"`
	What string    `json:"what"`
}

// Compaction was asked of etcd.
type Compaction struct {
	At       time.Time `json:"at"` // before it was done
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

// compactedAt is the greatest revision that may have been compacted before a time.
func (h *History) compactedAt(t time.Time) int64 {
	var revision int64
	for _, c := range h.Compactions {
		if c.At.Before(t) {
			revision = max(revision, c.Revision)
		}
	}
	return revision
}
