package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Event is a change of an object.
type Event struct {
	Type   string // ADDED, MODIFIED or DELETED
	Object Object // after the change; of DELETED, the last state
	Old    *Object
	// Inferred is set after a compaction: the event is the difference of two lists, and intermediate changes are unknown.
	Inferred bool
	// Time is when the change happened; zero: just now.
	Time time.Time
}

// Follower watches the objects of a query across lost connections and gateways. It delivers each change once.
type Follower struct {
	Client *Client
	Query  Query // if it has a Revision, the changes since then are delivered first
	// OnList gets the state that the changes start from. An error ends Run.
	OnList func(List) error
	// OnEvent gets each change. An error ends Run.
	OnEvent func(Event) error
	// OnNotice gets messages for the user: the connection is lost, or open again.
	OnNotice func(text string)

	known        map[string]Object // by key
	revision     int64             // all changes up to it are delivered
	disconnected bool              // OnNotice got the message
}

// idleTimeout ends a stream without events or bookmarks: the gateway sends a bookmark every minute.
const idleTimeout = 150 * time.Second

// Run returns nil when ctx ends. It returns an error of the first list, of a callback, or one that a retry cannot repair; after any
// other error it tries again.
func (f *Follower) Run(ctx context.Context) error {
	list, err := f.Client.List(ctx, f.Query)
	if err == nil {
		f.reset(list)
		f.Query.Revision, f.Query.At = 0, ""
		err = f.OnList(list)
	}
	for backoff := (Backoff{}); err == nil && ctx.Err() == nil; {
		var received bool
		received, err = f.stream(ctx)
		if received {
			backoff.Reset()
		}
		if HasCode(err, http.StatusGone) {
			err = f.relist(ctx)
		}
		if own := (*callbackError)(nil); errors.As(err, &own) || IsPermanent(err) {
			break
		}
		if err != nil || !received {
			if err != nil && !f.disconnected && ctx.Err() == nil {
				f.disconnected = true
				f.OnNotice(fmt.Sprintf("the connection is lost after revision %d, trying again: %v", f.revision, err))
			}
			backoff.Wait(ctx, err)
		}
		err = nil
	}
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the end of ctx caused the error
	}
	return err
}

// callbackError is an error of OnEvent.
type callbackError struct{ error }

func (e *callbackError) Unwrap() error { return e.error }

func (f *Follower) reset(list List) {
	f.known, f.revision = make(map[string]Object, len(list.Objects)), list.Revision
	for _, o := range list.Objects {
		f.known[o.key()] = o
	}
}

// stream delivers the events of one watch; received reports whether there was any. The end of the stream is no error, because the
// gateway ends watches regularly.
func (f *Follower) stream(ctx context.Context) (received bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	values := f.Query.values()
	values.Set("watch", "true")
	values.Set("allowWatchBookmarks", "true")
	values.Set("resourceVersion", strconv.FormatInt(f.revision, 10))
	resp, err := f.Client.open(ctx, Request{Path: f.Query.path(), Query: values, Header: http.Header{"Accept": {f.Query.accept()}}})
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }()
	if f.disconnected {
		f.disconnected = false
		f.OnNotice(fmt.Sprintf("connected again, resuming after revision %d", f.revision))
	}
	idle := time.AfterFunc(idleTimeout, func() { cancel(fmt.Errorf("no event or bookmark arrived for %v", idleTimeout)) })
	defer idle.Stop()
	for frames := json.NewDecoder(resp.Body); ; received = true {
		var frame metav1.WatchEvent
		if err := frames.Decode(&frame); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return received, err
		}
		idle.Stop()
		if err := f.handle(frame); err != nil {
			return received, err
		}
		idle.Reset(idleTimeout)
	}
}

// handle delivers the event of a frame. It skips an event that a resumed watch repeats, with the others of its revision.
func (f *Follower) handle(frame metav1.WatchEvent) error {
	if frame.Type == "ERROR" {
		var status metav1.Status
		if err := json.Unmarshal(frame.Object.Raw, &status); err != nil {
			return fmt.Errorf("an ERROR event: %w", err)
		}
		return &StatusError{Code: int(status.Code), Message: status.Message}
	}
	parse := newObject
	if f.Query.Rows {
		parse = newRow
	}
	o, err := parse(frame.Object.Raw)
	if err != nil {
		return err
	}
	if frame.Type == "BOOKMARK" {
		f.revision = max(f.revision, o.Revision)
		return nil
	}
	event := Event{Type: frame.Type, Object: o}
	if old, ok := f.known[o.key()]; ok {
		if o.Revision <= old.Revision {
			return nil
		}
		event.Old = &old
	} else if frame.Type == "DELETED" {
		return nil
	}
	return f.deliver(event)
}

// deliver calls OnEvent, and updates the state if that succeeds.
func (f *Follower) deliver(e Event) error {
	if err := f.OnEvent(e); err != nil {
		return &callbackError{err}
	}
	if e.Type == "DELETED" {
		delete(f.known, e.Object.key())
	} else {
		f.known[e.Object.key()] = e.Object
	}
	if !e.Inferred {
		f.revision = max(f.revision, e.Object.Revision)
	}
	return nil
}

// relist delivers the differences between the known state and a new list, because etcd has compacted the changes in between.
func (f *Follower) relist(ctx context.Context) error {
	list, err := f.Client.List(ctx, f.Query)
	if err != nil {
		return err
	}
	f.OnNotice(fmt.Sprintf("etcd has compacted the history after revision %d: the changes until revision %d are the differences of two lists", f.revision, list.Revision))
	before := f.known
	for _, o := range list.Objects {
		event := Event{Type: "ADDED", Object: o, Inferred: true}
		if old, ok := before[o.key()]; ok {
			delete(before, o.key())
			if old.Revision == o.Revision && equal(old.JSON, o.JSON) {
				continue
			}
			event.Type, event.Old = "MODIFIED", &old
		}
		if err := f.OnEvent(event); err != nil {
			return &callbackError{err}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		old := before[key]
		if err := f.OnEvent(Event{Type: "DELETED", Object: old, Old: &old, Inferred: true}); err != nil {
			return &callbackError{err}
		}
	}
	f.reset(list)
	return nil
}

// equal compares two documents: a restored etcd can have another object at the same revision.
func equal(a, b json.RawMessage) bool {
	var x, y any
	return slices.Equal(a, b) || json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
