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

// A blocked watch gets all events that are due when the server drains, and then a clean end of HTTP and TLS.
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
		if s.variant.protocol != "HTTP/2" { // its connection stays open
			if _, err := io.ReadAll(conn); err != nil {
				t.Errorf("after the last chunk: %v", err)
			}
		}
		if err := <-drained; err != nil {
			t.Error(err)
		}
	})
}

// When the context of Drain ends, Drain breaks the remaining connections, which net/http does not know any more: those of event loops and
// those of goroutines.
func TestDrainCutsInTheEnd(t *testing.T) {
	overAll(t, socket.WriteTimeout, func(t *testing.T, s *loopServer) {
		if s.variant.protocol == "HTTP/2" && !s.variant.frames {
			t.Skip("net/http has the connection: http.Server cuts it")
		}
		revision := s.create("first")
		_, owned := s.watchFrom(revision, "")
		_, behind := s.watchFrom(revision, "")
		// The first event is larger than the buffers of the sockets. The log advances with the others.
		s.large(0)
		rawhttp.Await(t, "both to be blocked", func() bool { return s.blocked() == 2 })
		for number := range 40 {
			s.large(1 + number)
		}
		// The loop releases one session, whose client reads a part; it then stalls on a goroutine.
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
			case <-patience: // a session reads and decodes history until it detects the broken connection
				t.Fatal("not all watches have ended")
			default:
			}
		}
		if _, err := io.Copy(io.Discard, owned); err == nil {
			t.Error("the client took it for complete")
		}
	})
}
