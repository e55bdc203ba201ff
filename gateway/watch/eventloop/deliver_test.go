package eventloop

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"revtail/gateway/gatewaytest/rawhttp"
	"revtail/gateway/netio/socket"
	"revtail/gateway/watch/transport"
)

func TestWatchKeepsTheRestOfAShortWrite(t *testing.T) {
	overAll(t, socket.WriteTimeout, func(t *testing.T, s *loopServer) {
		revision := s.create("first")
		_, late := s.watchFrom(revision, "")
		_, prompt := s.watchFrom(revision, "")
		for number := range 3 {
			s.large(number)
			s.expectLarge(prompt, number, number) // although the other client does not read
		}
		rawhttp.Await(t, "a client that takes nothing", func() bool { return s.blocked() == 1 })
		s.expectLarge(late, 0, 2)
		rawhttp.Await(t, "no client to be blocked", func() bool { return s.blocked() == 0 })
	})
}

// The log holds 8 MiB. A session whose client stops reading for longer is released to a goroutine, reads etcd's history, and is adopted
// again.
func TestLaggingSessionIsReleased(t *testing.T) {
	overAll(t, socket.WriteTimeout, func(t *testing.T, s *loopServer) {
		conn, body := s.watchFrom(s.create("first"), "")
		adopted := s.adoptions.Load()
		const events = 40 // each counts twice in the log: the new and the previous object
		for number := range events {
			s.large(number)
		}
		s.expectLarge(body, 0, events-1)
		s.awaitAdoption(adopted)
		s.large(events)
		s.expectLarge(body, events, events)
		_ = conn.Close()
		rawhttp.Await(t, "the watch to end", func() bool { return s.open() == 0 })
	})
}

// A session may be released while it is being adopted. It continues nevertheless, here until its ERROR event.
func TestSessionIsReleasedAtOnce(t *testing.T) {
	overAll(t, socket.WriteTimeout, func(t *testing.T, s *loopServer) {
		s.create("first")
		s.create("second")
		if err := s.store.Compact(3); err != nil {
			t.Fatal(err)
		}
		client := s.front.Client()
		var opening sync.WaitGroup
		for range 16 {
			opening.Go(func() {
				for range 40 {
					r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.front.URL+"/?resourceVersion=1", nil)
					if err != nil {
						t.Error(err)
						return
					}
					answer, err := client.Do(r)
					if err != nil {
						t.Error(err)
						return
					}
					body, err := io.ReadAll(answer.Body)
					_ = answer.Body.Close()
					if err != nil || !bytes.HasPrefix(body, []byte(`{"type":"ERROR"`)) {
						t.Errorf("the answer is %q, %v", body, err)
					}
				}
			})
		}
		opening.Wait()
		client.CloseIdleConnections()
	})
}

func TestStalledClientIsCut(t *testing.T) {
	overAll(t, 200*time.Millisecond, func(t *testing.T, s *loopServer) {
		_, body := s.watchFrom(s.create("first"), "")
		s.large(0)
		rawhttp.Await(t, "the watch to end", func() bool { return s.open() == 0 })
		if n, err := io.Copy(io.Discard, body); err == nil {
			t.Errorf("the client took %d bytes for complete", n)
		}
	})
}

func TestClosedClientIsDetected(t *testing.T) {
	for name, leave := range map[string]func(net.Conn) error{
		"closed": func(conn net.Conn) error { return conn.Close() },
		"said good-bye": func(conn net.Conn) error {
			if secure, ok := conn.(*tls.Conn); ok {
				return secure.CloseWrite()
			}
			return conn.(*net.TCPConn).CloseWrite()
		},
		"talks too much": func(conn net.Conn) error {
			_, _ = conn.Write(make([]byte, 2*transport.MaxClientBytes)) // may fail, because the server closes the connection
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			overAll(t, socket.WriteTimeout, func(t *testing.T, s *loopServer) {
				if s.variant.protocol == "HTTP/2" && name == "talks too much" {
					t.Skip("what is no frame is refused by net/http")
				}
				revision := s.create("first")
				idle, _ := s.watchFrom(revision, "")
				parked, _ := s.watchFrom(revision, "")
				if err := leave(idle); err != nil {
					t.Fatal(err)
				}
				rawhttp.Await(t, "the idle watch to end", func() bool { return s.open() == 1 })
				if !s.variant.adopts() && name != "closed" {
					return // a goroutine that is blocked in a write detects only a closed connection
				}
				s.large(0)
				rawhttp.Await(t, "the other one to be blocked", func() bool { return s.blocked() == 1 })
				if err := leave(parked); err != nil {
					t.Fatal(err)
				}
				rawhttp.Await(t, "the parked watch to end", func() bool { return s.open() == 0 })
				rawhttp.Await(t, "both to be counted", func() bool { return s.watches.Stats.Departed() == 2 })
			})
		})
	}
}

// TestKeyUpdatesAreBounded checks that a client that updates its keys again and again is disconnected: TLS answers each update, and the event
// loop keeps the answers that the client does not read.
func TestKeyUpdatesAreBounded(t *testing.T) {
	s := newLoopServer(t, variant{protocol: "TLS", loop: true}, time.Minute)
	if !s.variant.adopts() {
		t.Skip("no event loop on this platform")
	}
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", s.front.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	w := rawhttp.HandshakeTLS(t, conn, &tls.Config{InsecureSkipVerify: true})
	if _, err := fmt.Fprintf(w, "GET /?resourceVersion=%d HTTP/1.1\r\nHost: test\r\n\r\n", s.create("first")); err != nil {
		t.Fatal(err)
	}
	rawhttp.ReadHead(t, bufio.NewReader(w.Reader))
	rawhttp.Await(t, "the event loop", func() bool { return s.adoptions.Load() == 1 })
	if sent, err := io.CopyN(conn, w.KeyUpdates([]byte("x")), 16*transport.MaxClientBytes); err == nil {
		t.Errorf("%d bytes of updates were accepted", sent)
	}
	rawhttp.Await(t, "the watch to end", func() bool { return s.open() == 0 })
}
