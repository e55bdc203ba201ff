package keyapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"revtail/cmd/revtail/client"
)

// Follower watches ranges across lost connections and gateways. It delivers each change once.
type Follower struct {
	Client  *Client
	Ranges  []string // keys, and prefixes, which end with a slash
	Since   int64    // deliver the changes after this revision; zero: those from now on
	Initial bool     // deliver the existing keys first
	Prev    bool     // with the previous values
	Filter  string   // CEL expression; empty: all keys
	Fields  string   // paths in the values, separated by commas; empty: the whole values

	// OnEvent gets each change. An error ends Run.
	OnEvent func(Event) error
	// OnNotice gets messages for the user: the connection is lost, or open again.
	OnNotice func(text string)

	known        map[string]int64 // revisions of the last writes to the keys
	revision     int64            // all changes up to it are delivered
	partial      map[string]bool  // keys of which the changes of the next revision are delivered
	disconnected bool             // OnNotice got the message
}

// idleTimeout ends a stream without frames: the gateway sends PROGRESS every 15 s.
const idleTimeout = time.Minute

// Run returns nil when ctx ends. It returns an error of the first state, of OnEvent, or one that a retry cannot repair.
func (f *Follower) Run(ctx context.Context) error {
	err := f.start(ctx)
	for backoff := (client.Backoff{}); err == nil && ctx.Err() == nil; {
		var received bool
		received, err = f.stream(ctx)
		if received {
			backoff.Reset()
		}
		if client.HasCode(err, http.StatusGone) && (f.Since == 0 || f.revision > f.Since) {
			err = f.compare(ctx)
		}
		if own := (*callbackError)(nil); errors.As(err, &own) || client.IsPermanent(err) || client.HasCode(err, http.StatusGone) {
			break
		}
		if err != nil && !f.disconnected && ctx.Err() == nil {
			f.disconnected = true
			f.OnNotice(fmt.Sprintf("the connection is lost after revision %d, trying again: %v", f.revision, err))
		}
		if err != nil || !received {
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

// start reads the state that the changes start from.
func (f *Follower) start(ctx context.Context) error {
	state, err := f.state(ctx, f.Initial)
	if err != nil {
		return err
	}
	f.known, f.revision = state.revisions, state.revision
	if f.Since > 0 {
		f.revision = f.Since
	}
	f.OnNotice(fmt.Sprintf("watching %d keys after revision %d", len(f.known), f.revision))
	for _, e := range state.events {
		if err := f.OnEvent(e); err != nil {
			return err
		}
	}
	return nil
}

// keyState is the state of the ranges.
type keyState struct {
	revision  int64
	revisions map[string]int64
	events    []Event // a PUT for each key; nil: they are not wanted
}

// state reads all ranges as of one revision.
func (f *Follower) state(ctx context.Context, withValues bool) (keyState, error) {
	out := keyState{revisions: make(map[string]int64)}
	var err error
	if _, out.revision, err = f.Client.Count(ctx, f.Ranges[0], 0); err != nil {
		return out, err
	}
	for _, keys := range f.Ranges {
		values := Query(keys)
		values.Set("at", strconv.FormatInt(out.revision, 10))
		if !withValues {
			values.Set("keysOnly", "true")
		}
		f.restrict(values, IsPrefix(keys), withValues)
		_, _, err := f.Client.Pages(ctx, values, 0, func(_ int64, text json.RawMessage) error {
			i, err := DecodeItem(text)
			if _, seen := out.revisions[i.String()]; err != nil || seen {
				return err
			}
			out.revisions[i.String()] = i.ModRevision
			if withValues {
				out.events = append(out.events, newPut(i, text))
			}
			return nil
		})
		if err != nil && (IsPrefix(keys) || !client.HasCode(err, http.StatusNotFound)) {
			return out, err
		}
	}
	return out, nil
}

// newPut makes the event of a key that was found in a state.
func newPut(i Item, text json.RawMessage) Event {
	head := fmt.Sprintf(`{"type":"PUT","revision":%d,`, i.ModRevision)
	return Event{Item: i, Type: "PUT", Revision: i.ModRevision, Line: append([]byte(head), text[1:]...)}
}

// restrict adds the filter and the fields to a query.
func (f *Follower) restrict(values url.Values, filter, fields bool) {
	if filter && f.Filter != "" {
		values.Set("filter", f.Filter)
	}
	if fields && f.Fields != "" {
		values.Set("fields", f.Fields)
	}
}

// stream delivers the events of one watch; received reports whether a frame arrived. The end of the stream is no error.
func (f *Follower) stream(ctx context.Context) (received bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	values := Query(f.Ranges...)
	values.Set("watch", "true")
	values.Set("since", strconv.FormatInt(f.revision, 10))
	if f.Prev {
		values.Set("prev", "true")
	}
	f.restrict(values, true, true)
	resp, err := f.Client.Do(ctx, client.Request{Path: Path, Query: values, Header: http.Header{"Accept": {"application/x-ndjson"}}})
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }()
	if f.disconnected {
		f.disconnected = false
		f.OnNotice(fmt.Sprintf("connected again, resuming after revision %d", f.revision))
	}
	idle := time.AfterFunc(idleTimeout, func() { cancel(fmt.Errorf("no frame arrived for %v", idleTimeout)) })
	defer idle.Stop()
	resumed := f.revision
	for lines := bufio.NewReader(resp.Body); ; received = true {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return received, cause
			}
			return received, nil // the gateway ends watches when it stops
		}
		idle.Stop()
		if err := f.handle(bytes.TrimSpace(line), resumed); err != nil {
			return received, err
		}
		idle.Reset(idleTimeout)
	}
}

// handle delivers an event. It skips events that a resumed watch repeats.
func (f *Follower) handle(line []byte, resumed int64) error {
	e, err := decodeEvent(line)
	if err != nil {
		return err
	}
	if e.Type == "SYNC" || e.Type == "PROGRESS" {
		f.complete(e.Revision)
		return nil
	}
	key := e.String()
	if e.Revision > resumed && !f.partial[key] {
		if err := f.deliver(e); err != nil {
			return err
		}
		if f.partial == nil {
			f.partial = make(map[string]bool)
		}
		f.partial[key] = true
	}
	if e.Last {
		f.complete(e.Revision)
	}
	return nil
}

// complete notes that all changes up to a revision are delivered.
func (f *Follower) complete(revision int64) {
	if revision >= f.revision {
		f.revision, f.partial = revision, nil
	}
}

func (f *Follower) deliver(e Event) error {
	if err := f.OnEvent(e); err != nil {
		return &callbackError{err}
	}
	if e.Type == "DELETE" {
		delete(f.known, e.String())
	} else {
		f.known[e.String()] = e.ModRevision
	}
	return nil
}

// compare delivers the differences between the known state and a new one, because etcd has compacted the changes in between.
func (f *Follower) compare(ctx context.Context) error {
	state, err := f.state(ctx, true)
	if err != nil {
		return err
	}
	f.OnNotice(fmt.Sprintf("etcd has compacted the history after revision %d: the changes until revision %d are the differences of two states", f.revision, state.revision))
	for _, e := range state.events {
		if f.known[e.String()] == e.ModRevision {
			continue
		}
		e.Inferred = true
		if err := f.deliver(e); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(f.known)) {
		if _, exists := state.revisions[key]; exists {
			continue
		}
		e := Event{Item: Item{Name: NewName(key)}, Type: "DELETE", Revision: state.revision, Inferred: true}
		e.Line, _ = json.Marshal(struct {
			Type     string `json:"type"`
			Revision int64  `json:"revision"`
			Name
		}{e.Type, e.Revision, e.Name}) // numbers and strings can always be encoded
		if err := f.deliver(e); err != nil {
			return err
		}
	}
	f.known, f.revision, f.partial = state.revisions, state.revision, nil
	return nil
}
