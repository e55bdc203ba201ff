package eventloop

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"revtail/encoding"
	"revtail/gateway/gatewaytest/rawhttp"
	"revtail/gateway/netio/socket"
)

// A watch that is parked when the server drains gets all it is due, and a clean end of HTTP and TLS.
func TestWatchDrains(t *testing.T) {
	overAll(t, socket.WriteTimeout, func(t *testing.T, s *loopServer) {
		conn, body := s.watchFrom(s.create("first"), "&allowWatchBookmarks=1")
		s.large(0)
		rawhttp.Await(t, "the watch to be blocked", func() bool { return s.blocked() == 1 })
		drained := make(chan error, 1)
		go func() { drained <- s.watches.Registry.Drain(context.WithoutCancel(t.Context())) }()
		s.expectLarge(body, 0, 0)
		rest, err := io.ReadAll(body)
		if err != nil || !strings.Contains(string(rest), string(encoding.Bookmark)) {
			t.Errorf("at the end: %q, %v", rest, err)
		}
		if s.variant.protocol != "HTTP/2" { // whose connection lives on
			if _, err := io.ReadAll(conn); err != nil {
				t.Errorf("after the last chunk: %v", err)
			}
		}
		if err := <-drained; err != nil {
			t.Error(err)
		}
	})
}

// When the time to drain is over, what does not end is cut: connections of writers, and of goroutines, that net/http knows
// nothing of any more.
func TestDrainCutsInTheEnd(t *testing.T) {
	overAll(t, socket.WriteTimeout, func(t *testing.T, s *loopServer) {
		if s.variant.protocol == "HTTP/2" && !s.variant.frames {
			t.Skip("net/http has the connection: http.Server cuts it")
		}
		revision := s.create("first")
		_, owned := s.watchFrom(revision, "")
		_, behind := s.watchFrom(revision, "")
		// The first event is more than fits between them; with the others the log moves on.
		s.large(0)
		rawhttp.Await(t, "both to be blocked", func() bool { return s.blocked() == 2 })
		for number := range 40 {
			s.large(1 + number)
		}
		// One of them is given back: it takes a part, and stalls on a goroutine.
		part := make([]byte, 8<<10)
		rawhttp.Await(t, "one to be given back", func() bool {
			_, _ = io.ReadFull(behind, part)
			return s.blocked() == 1
		})
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.watches.Registry.Drain(over); !errors.Is(err, context.Canceled) {
			t.Errorf("Drain returned %v", err)
		}
		for patience := time.After(time.Minute); s.open() > 0; s.clients(func(*client) {}) {
			select {
			case <-patience: // history is read, and decoded, until somebody finds out
				t.Fatal("not all watches have ended")
			default:
			}
		}
		if _, err := io.Copy(io.Discard, owned); err == nil {
			t.Error("the client took it for complete")
		}
	})
}
