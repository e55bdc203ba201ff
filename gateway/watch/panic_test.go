package watch

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"revtail/encoding"
	"revtail/etcdstore"
	"revtail/etcdstore/memory"
	"revtail/gateway/access"
	"revtail/gateway/http/response"
	"revtail/gateway/watch/transport"
	"revtail/gateway/watchcache"
)

// failingEncoder panics at the first event.
type failingEncoder struct{ Encoder }

func (failingEncoder) ContentType() string { return "application/json" }

func (failingEncoder) Passes() int { return 0 }

func (failingEncoder) Preamble() []byte { return nil }

func (failingEncoder) Event([]byte, watchcache.Change, bool) []byte { panic("meant by a test") }

// TestPanicOfAWatch checks that a panic while a watch is served breaks the response, that the log has the stack of that panic, not of
// a later one, and that the watch leaves nothing behind.
func TestPanicOfAWatch(t *testing.T) {
	log := new(bytes.Buffer)
	logger := slog.New(slog.NewTextHandler(log, nil))
	store := memory.New()
	if _, err := store.Create(t.Context(), "/registry/pods/a", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	cache := watchcache.New(watchcache.Config{Store: store, Prefix: "/registry/pods/", Logger: slog.New(slog.DiscardHandler),
		Decode: func(kv etcdstore.KV, _ []byte) (encoding.Object, error) { return encoding.Object{JSON: kv.Value}, nil }})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = cache.Run(ctx) }) // always nil
	defer running.Wait()
	defer cancel()
	<-cache.Filled()

	responder, released := response.NewResponder(logger), false
	s := &Service{Opener: transport.NewOpener(nil, responder.Compressors), Access: access.NewControl(responder, logger, nil, nil, nil, nil),
		Responder: responder, Logger: logger, Opened: func(*http.Request) {}}
	var broken error
	func() {
		defer func() { broken, _ = recover().(error) }()
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/pods?watch=1", http.NoBody)
		s.Follow(deadlineRecorder{httptest.NewRecorder()}, r, Start{Resource: "pods", Cache: cache, Query: watchcache.WatchQuery{State: true},
			Encoder: failingEncoder{}, Deadline: DeadlineAfter(0), Done: func() { released = true }})
	}()
	if !errors.Is(broken, http.ErrAbortHandler) {
		t.Errorf("the response ends with %v", broken)
	}
	if got := log.String(); !strings.Contains(got, "failingEncoder.Event") || strings.Count(got, "meant by a test") != 1 {
		t.Errorf("the log has not the stack of the encoder:\n%s", got)
	}
	if !released || cache.Stats().Watchers != 0 {
		t.Error("the watch is still open")
	}
}

// deadlineRecorder is a recorder for a watch, which sets write deadlines.
type deadlineRecorder struct{ *httptest.ResponseRecorder }

func (deadlineRecorder) SetWriteDeadline(time.Time) error { return nil }
