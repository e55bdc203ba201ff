package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
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
	// Inferred: history was lost, and the event is what two lists differ in: what happened in between is not known.
	Inferred bool
}

// Follower follows the objects of a query, over connections and gateways that come and go. Each change is told once.
type Follower struct {
	Client *Client
	Query  Query // with a Revision: what has changed since then comes first
	// Begin is told the state from which changes are told.
	Begin func(List) error
	// Event is told each change. An error ends Run.
	Event func(Event) error
	// Notice is told what a person might want to know: the connection is lost, or there again.
	Notice func(text string)

	known    map[string]Object // by namespace and name
	revision int64             // everything up to it has been told
	lost     bool              // and Notice knows it
}

// silence is how long a stream may say nothing, before it is taken for dead: the gateway sends a bookmark every minute.
const silence = 150 * time.Second

const (
	firstPause = 200 * time.Millisecond
	lastPause  = 10 * time.Second
)

// Run returns nil when ctx ends. It fails when the beginning does; later on it tries for ever, unless it is refused.
func (f *Follower) Run(ctx context.Context) error {
	list, err := f.Client.List(ctx, f.Query)
	if err == nil {
		f.adopt(list)
		f.Query.Revision = 0
		err = f.Begin(list)
	}
	pause := firstPause
	for err == nil && ctx.Err() == nil {
		var told bool
		told, err = f.stream(ctx)
		if told {
			pause = firstPause
		}
		if hasCode(err, http.StatusGone) {
			err = f.relist(ctx)
		}
		if own := (*toldError)(nil); errors.As(err, &own) || lasting(err) {
			break
		}
		if err != nil || !told {
			f.notice(ctx, err)
			sleep(ctx, max(pause/2+rand.N(pause), retryAfter(err)))
			pause = min(2*pause, lastPause)
		}
		err = nil
	}
	if ctx.Err() != nil {
		return nil //nolint:nilerr // it is what ends in the middle of whatever was done
	}
	return err
}

// toldError is an error of who was told.
type toldError struct{ error }

func (e *toldError) Unwrap() error { return e.error }

func (f *Follower) notice(ctx context.Context, err error) {
	if err == nil || f.lost || ctx.Err() != nil {
		return
	}
	f.lost = true
	f.Notice(fmt.Sprintf("the connection is lost after revision %d, trying again: %v", f.revision, err))
}

func retryAfter(err error) time.Duration {
	if refused := (*StatusError)(nil); errors.As(err, &refused) {
		return refused.RetryAfter
	}
	return 0
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (o Object) key() string { return o.Namespace + "/" + o.Name }

func (f *Follower) adopt(list List) {
	f.known, f.revision = make(map[string]Object, len(list.Objects)), list.Revision
	for _, o := range list.Objects {
		f.known[o.key()] = o
	}
}

// stream tells what one watch brings; told says that it brought anything. Its end is none of an error: the gateway ends watches
// now and then.
func (f *Follower) stream(ctx context.Context) (told bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	values := f.Query.values()
	values.Set("watch", "true")
	values.Set("allowWatchBookmarks", "true")
	values.Set("resourceVersion", strconv.FormatInt(f.revision, 10))
	resp, err := f.Client.open(ctx, f.Query.path(), values, "application/json")
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }()
	if f.lost {
		f.lost = false
		f.Notice(fmt.Sprintf("connected again, going on after revision %d", f.revision))
	}
	quiet := time.AfterFunc(silence, func() { cancel(fmt.Errorf("nothing was heard for %v", silence)) })
	defer quiet.Stop()
	for lines := json.NewDecoder(resp.Body); ; told = true {
		var frame metav1.WatchEvent
		if err := lines.Decode(&frame); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return told, err
		}
		quiet.Stop()
		if err := f.tell(frame); err != nil {
			return told, err
		}
		quiet.Reset(silence)
	}
}

// tell tells of a frame. One that was told before, and comes again with the others of its revision, is left out.
func (f *Follower) tell(frame metav1.WatchEvent) error {
	if frame.Type == "ERROR" {
		var status metav1.Status
		if err := json.Unmarshal(frame.Object.Raw, &status); err != nil {
			return fmt.Errorf("an ERROR: %w", err)
		}
		return &StatusError{Code: int(status.Code), Reason: string(status.Reason), Message: status.Message}
	}
	o, err := newObject(frame.Object.Raw)
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
	return f.commit(event)
}

// commit hands an event out, and remembers that.
func (f *Follower) commit(e Event) error {
	if err := f.Event(e); err != nil {
		return &toldError{err}
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

// relist begins anew after history was lost, and tells in what the states before and after differ.
func (f *Follower) relist(ctx context.Context) error {
	list, err := f.Client.List(ctx, f.Query)
	if err != nil {
		return err
	}
	f.Notice(fmt.Sprintf("etcd has no history after revision %d any more: what has changed until revision %d is found by comparing", f.revision, list.Revision))
	before := f.known
	for _, o := range list.Objects {
		event := Event{Type: "ADDED", Object: o, Inferred: true}
		if old, ok := before[o.key()]; ok {
			delete(before, o.key())
			if old.Revision == o.Revision && same(old.JSON, o.JSON) {
				continue
			}
			event.Type, event.Old = "MODIFIED", &old
		}
		if err := f.Event(event); err != nil {
			return &toldError{err}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		old := before[key]
		if err := f.Event(Event{Type: "DELETED", Object: old, Old: &old, Inferred: true}); err != nil {
			return &toldError{err}
		}
	}
	f.adopt(list)
	return nil
}

// same tells whether two documents say the same: an etcd that was restored can have another one at the same revision.
func same(a, b json.RawMessage) bool {
	var x, y any
	return slices.Equal(a, b) || json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
