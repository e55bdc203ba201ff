package transport

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"revtail/gateway/gatewaytest/rawhttp"
	"revtail/gateway/netio/socket"
)

// handshakeRequest is the example of RFC 6455, section 1.2.
const handshakeRequest = "GET / HTTP/1.1\r\nHost: test\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n" +
	"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

// readFrame reads one frame of a server, and returns its first byte and its payload.
func readFrame(r io.Reader) (first byte, content string, err error) {
	head := make([]byte, 2)
	if _, err := io.ReadFull(r, head); err != nil {
		return 0, "", err
	}
	size := uint64(head[1])
	extended := make([]byte, map[uint64]int{126: 2, 127: 8}[size])
	if _, err := io.ReadFull(r, extended); err != nil {
		return 0, "", err
	}
	switch len(extended) {
	case 2:
		size = uint64(binary.BigEndian.Uint16(extended))
	case 8:
		size = binary.BigEndian.Uint64(extended)
	}
	body := make([]byte, size)
	_, err = io.ReadFull(r, body)
	return head[0], string(body), err
}

func TestWebSocketOverTLS(t *testing.T) {
	server := newStreamServer(t, socket.WriteTimeout, func(_ context.Context, s *Stream) error { return s.Write([]byte("one\n")) })
	server.StartTLS()
	socket := rawhttp.DialWebSocket(t, server.URL, &websocket.DialOptions{HTTPClient: server.Client()})
	if got := rawhttp.ReadMessage(t, socket); got != "one\n" {
		t.Errorf("message %q", got)
	}
	if _, _, err := socket.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("at the end: %v", err)
	}
}

func TestWebSocketFramesOnTheWire(t *testing.T) {
	long := strings.Repeat("x", 70000) + "\n"
	server := newStreamServer(t, socket.WriteTimeout, func(_ context.Context, s *Stream) error {
		s.frame([]byte("one\n"))
		s.frame([]byte(long))
		return s.Flush()
	})
	server.Start()
	_, r := rawhttp.Connect(t, server.Listener.Addr().String(), handshakeRequest)
	head := rawhttp.ReadHead(t, r)
	if !strings.HasPrefix(head, "HTTP/1.1 101 Switching Protocols\r\n") || !strings.Contains(head, "\r\nSec-Websocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n") {
		t.Errorf("head %q", head)
	}
	for _, want := range []struct {
		first   byte
		content string
	}{
		{0x81, "one\n"}, {0x81, long},
		{0x88, "\x03\xe8"}, // normal closure
	} {
		first, content, err := readFrame(r)
		if err != nil || first != want.first || content != want.content {
			t.Fatalf("frame %#x of %d bytes, %v; want %#x of %d", first, len(content), err, want.first, len(want.content))
		}
	}
}

// TestWebSocketNoticesItsClientLeave checks that the context ends when the client disconnects, with a close frame and without one.
func TestWebSocketNoticesItsClientLeave(t *testing.T) {
	for name, leave := range map[string]func(*websocket.Conn) error{
		"closed": func(c *websocket.Conn) error { return c.Close(websocket.StatusNormalClosure, "") },
		"cut":    (*websocket.Conn).CloseNow,
	} {
		t.Run(name, func(t *testing.T) {
			cause := make(chan error, 1)
			server := newStreamServer(t, socket.WriteTimeout, func(ctx context.Context, _ *Stream) error {
				<-ctx.Done()
				cause <- context.Cause(ctx)
				return nil
			})
			server.Start()
			if err := leave(rawhttp.DialWebSocket(t, server.URL, nil)); err != nil {
				t.Errorf("leave: %v", err)
			}
			// net/http may detect it first, because the client can disconnect before its connection is hijacked.
			if err := <-cause; !errors.Is(err, socket.ErrPeerGone) && !errors.Is(err, context.Canceled) {
				t.Errorf("the context ended with %v", err)
			}
		})
	}
}

// TestWebSocketIgnoresMessages checks that a watch ignores messages of the client up to maxMessage bytes.
func TestWebSocketIgnoresMessages(t *testing.T) {
	lines := make(chan string)
	server := newStreamServer(t, socket.WriteTimeout, inTurn(lines))
	server.Start()
	socket := rawhttp.DialWebSocket(t, server.URL, nil)
	if err := socket.Write(t.Context(), websocket.MessageText, []byte("are you there?")); err != nil {
		t.Fatal(err)
	}
	lines <- "one\n"
	if got := rawhttp.ReadMessage(t, socket); got != "one\n" {
		t.Errorf("message %q", got)
	}
	if err := socket.Write(t.Context(), websocket.MessageText, make([]byte, maxMessage+1)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := socket.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("after a message of %d bytes: %v", maxMessage+1, err)
	}
}

func TestWebSocketSubprotocols(t *testing.T) {
	server := newStreamServer(t, socket.WriteTimeout, func(context.Context, *Stream) error { return nil })
	server.Start()
	for _, test := range []struct {
		offered []string
		want    string
	}{
		{nil, ""},
		{[]string{"base64.binary.k8s.io", "json"}, "base64.binary.k8s.io"},
		{[]string{bearerProtocol + "c2VjcmV0", "json"}, "json"},
		{[]string{bearerProtocol + "c2VjcmV0"}, ""},
	} {
		if got := rawhttp.DialWebSocket(t, server.URL, &websocket.DialOptions{Subprotocols: test.offered}).Subprotocol(); got != test.want {
			t.Errorf("of %q: %q, want %q", test.offered, got, test.want)
		}
	}
}

func TestWebSocketOfStalledClientIsCut(t *testing.T) {
	result := make(chan error, 1)
	server := newStreamServer(t, 100*time.Millisecond, func(_ context.Context, s *Stream) error {
		for {
			if err := s.Write(make([]byte, 64<<10)); err != nil {
				result <- err
				return err
			}
		}
	})
	server.Start()
	_, r := rawhttp.Connect(t, server.Listener.Addr().String(), handshakeRequest)
	rawhttp.ReadHead(t, r)
	if err := <-result; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the stream ended with %v", err)
	}
	for {
		first, _, err := readFrame(r)
		if err != nil {
			return
		}
		if first == 0x88 {
			t.Fatal("the client got a close frame after a part of an event")
		}
	}
}

// TestWebSocketPings checks that a client that answers pings stays connected, and that the stream of a client that does not answer ends
// when the second ping is due.
func TestWebSocketPings(t *testing.T) {
	untilGone := func(ctx context.Context, _ *Stream) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	t.Run("unanswered", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, r, ended := serveInBubble(t, handshakeRequest, untilGone)
			if first, _, err := readFrame(r); err != nil || first != 0x89 {
				t.Errorf("frame %#x, %v; want a ping", first, err)
			}
			if after := <-ended; after != 2*pingEvery {
				t.Errorf("gone after %v, want %v", after, 2*pingEvery)
			}
		})
	})
	t.Run("answered", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			client, r, ended := serveInBubble(t, handshakeRequest, untilGone)
			for range 10 {
				first, content, err := readFrame(r)
				if err != nil || first != 0x89 {
					t.Fatalf("frame %#x, %v; want a ping", first, err)
				}
				if err := sendPong(client, content); err != nil {
					t.Fatal(err)
				}
			}
			_ = client.Close()
			if after := <-ended; after != 10*pingEvery {
				t.Errorf("gone after %v, want %v: when it left", after, 10*pingEvery)
			}
		})
	})
}

// sendPong writes the pong of a client, with a mask of zeros.
func sendPong(conn net.Conn, content string) error {
	frame := append([]byte{0x8a, 0x80 | byte(len(content)), 0, 0, 0, 0}, content...)
	_, err := conn.Write(frame)
	return err
}
