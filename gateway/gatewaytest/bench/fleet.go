package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"revtail/gateway/gatewaytest/program"
)

// transport is the protocol between a client and a server.
type transport string

const (
	plain transport = "HTTP/1.1"
	tls11 transport = "TLS HTTP/1.1"
	http2 transport = "HTTP/2"
	rpc   transport = "gRPC"
)

// endpoint is the address of a server, with its TLS configuration for clients.
type endpoint struct {
	transport transport
	address   string
	trust     *tls.Config        // nil: plain
	token     func(i int) string // of the i-th client; nil: clients show none
}

// tokenOf returns the token of the i-th client; empty: none.
func (e endpoint) tokenOf(i int) string {
	if e.token == nil {
		return ""
	}
	return e.token(i)
}

// fleet is a number of clients that watch. They use little processor time, because they share the machine with the server: one goroutine
// and one buffer for all plain connections.
type fleet struct {
	watchers  []*watcher
	form      form
	tracker   atomic.Pointer[tracker] // of the current run; nil: none
	start     time.Time               // of the first connection
	connected time.Duration           // from start to the header of the last response

	heads, states *barrier
	ctx           context.Context // ends with the fleet
	cancel        context.CancelCauseFunc
	running       sync.WaitGroup

	mu      sync.Mutex  // guards the field below
	closers []io.Closer // of the connections
}

// watches are the requests of a fleet.
type watches struct {
	count int
	path  func(i int) string // of the i-th watch
	body  string             // of a POST; empty: GET
	after int64              // the revision after which they begin, if no URL has it
	state bool               // the watches have sendInitialEvents
	form  form
}

// openFleet opens the watches and returns when all of them are open.
func openFleet(ctx context.Context, e endpoint, w watches) (*fleet, error) {
	f := &fleet{form: w.form, heads: newBarrier(w.count), states: newBarrier(w.count)}
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	requests := make([]request, w.count)
	for i := range requests {
		watcher := newWatcher(f)
		watcher.state = w.state
		f.watchers = append(f.watchers, watcher)
		requests[i] = request{watcher: watcher, address: e.address, path: w.path(i), accept: w.form.accept(), body: w.body, after: w.after, token: e.tokenOf(i)}
	}
	connect := map[transport]func(*fleet, endpoint, []request) error{
		plain: connectPlain, tls11: connectTLS, http2: connectHTTP2, rpc: connectGRPC,
	}[e.transport]
	f.start = time.Now()
	err := connect(f, e, requests)
	if err == nil {
		err = f.heads.wait(f.ctx)
	}
	if err != nil {
		f.close()
		return nil, fmt.Errorf("%d watches over %s: %w", w.count, e.transport, err)
	}
	f.connected = time.Since(f.start)
	return f, nil
}

// stateEnded is called by each watcher when it has the whole state.
func (f *fleet) stateEnded() { f.states.arrive() }

// awaitStates waits until every watcher has the whole state, and returns the duration.
func (f *fleet) awaitStates() (time.Duration, error) {
	err := f.states.wait(f.ctx)
	return time.Since(f.start), err
}

// own makes close close a connection.
func (f *fleet) own(c io.Closer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closers = append(f.closers, c)
}

// broke is called when a connection fails. While the watches are being opened that ends the fleet.
func (f *fleet) broke(err error, watchers ...*watcher) {
	if f.ctx.Err() != nil {
		return
	}
	for _, w := range watchers {
		w.fail("the stream broke: %v", err)
	}
	f.cancel(err)
}

// explain adds the reason for the end of the fleet, if it has ended, to the error of a run.
func (f *fleet) explain(err error) error {
	if cause := context.Cause(f.ctx); cause != nil {
		return fmt.Errorf("%w: a stream broke: %w", err, cause)
	}
	return err
}

func (f *fleet) close() {
	f.cancel(errors.New("closed"))
	f.mu.Lock()
	for _, c := range f.closers {
		_ = c.Close() // an error does not matter
	}
	f.mu.Unlock()
	f.running.Wait()
}

// track begins a run: the events that the watchers get from now on are checked at its end.
func (f *fleet) track(t *tracker) {
	for _, w := range f.watchers {
		w.sequence = sequence{last: w.last, wrong: w.wrong}
	}
	f.tracker.Store(t)
}

// check compares the events of each watcher since track with the acknowledged events.
func (f *fleet) check(acknowledged []int64) error {
	want := sequenceOf(acknowledged)
	var first error
	wrong := 0
	for i, w := range f.watchers {
		if err := w.check(want); err != nil {
			wrong++
			if first == nil {
				first = fmt.Errorf("watcher %d: %w", i, err)
			}
		}
	}
	if first != nil {
		return fmt.Errorf("%d of %d watchers did not see every event exactly once in order: %w", wrong, len(f.watchers), first)
	}
	return nil
}

// request is the request of one watch.
type request struct {
	watcher             *watcher
	address, path, body string
	accept, token       string // empty: none
	after               int64
}

// text returns the request in HTTP/1.1.
func (r request) text() []byte {
	method, body := "GET", ""
	if r.body != "" {
		method, body = "POST", fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(r.body))
	}
	if r.accept != "" {
		body += "Accept: " + r.accept + "\r\n"
	}
	if r.token != "" {
		body += "Authorization: Bearer " + r.token + "\r\n"
	}
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n%s", method, r.path, r.address, body, r.body)
}

// response returns the reader of the response.
func (r request) response() *response {
	return &response{body: r.watcher.lines.feed, head: r.watcher.fleet.heads.arrive}
}

// barrier opens when a number of watchers have arrived.
type barrier struct {
	missing atomic.Int64
	open    chan struct{}
}

func newBarrier(n int) *barrier {
	b := &barrier{open: make(chan struct{})}
	b.missing.Store(int64(n))
	return b
}

func (b *barrier) arrive() {
	if b.missing.Add(-1) == 0 {
		close(b.open)
	}
}

func (b *barrier) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, program.Patience)
	defer cancel()
	select {
	case <-b.open:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%d are missing: %w", b.missing.Load(), context.Cause(ctx))
	}
}
