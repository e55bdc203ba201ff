package transport

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"revtail/encoding"
	"revtail/gateway/gatewaytest/rawhttp"
	"revtail/gateway/http/response"
	"revtail/gateway/netio/socket"
)

// streamServer answers every request with one stream, and counts the writes to its connections.
type streamServer struct {
	*httptest.Server
	transports *Opener
	writes     atomic.Int64
}

// newStreamServer returns a server that is not started. serve writes each stream until its context ends. If serve returns nil, the stream
// ends, otherwise it breaks.
func newStreamServer(tb testing.TB, stall time.Duration, serve func(context.Context, *Stream) error) *streamServer {
	tb.Helper()
	s := &streamServer{transports: NewOpener(nil, response.NewCompressors())}
	s.transports.WriteTimeout = stall
	var running sync.WaitGroup
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		running.Add(1)
		defer running.Done()
		serveStream(s.transports.NewStream(w, r), r, serve)
	}))
	s.Listener = &countingListener{s.Listener, &s.writes}
	tb.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		running.Wait()
	})
	return s
}

func serveStream(stream *Stream, r *http.Request, serve func(context.Context, *Stream) error) {
	defer stream.Close()
	ctx, err := stream.Open(r.Context())
	if err != nil {
		return
	}
	stream.DetectClose()
	if err = serve(ctx, stream); err == nil {
		err = stream.End()
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

type countingListener struct {
	net.Listener
	writes *atomic.Int64
}

func (l *countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &countingConn{conn, l.writes}, nil
}

type countingConn struct {
	net.Conn
	writes *atomic.Int64
}

func (c *countingConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// inTurn returns a serve function that writes each line of the channel, and ends when the channel is closed.
func inTurn(lines <-chan string) func(context.Context, *Stream) error {
	return func(ctx context.Context, s *Stream) error {
		for {
			select {
			case line, more := <-lines:
				if !more {
					return nil
				}
				if err := s.Write([]byte(line)); err != nil {
					return err
				}
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
}

// checkInTurn sends lines one by one, checks that body has each line before it sends the next one, and then checks that body ends.
func checkInTurn(t *testing.T, lines chan<- string, body io.Reader) {
	t.Helper()
	r := bufio.NewReader(body)
	for _, line := range []string{"one\n", strings.Repeat("two ", 20000) + "\n", "three\n"} {
		lines <- line
		got, err := r.ReadString('\n')
		if err != nil || got != line {
			t.Fatalf("read %d bytes, %v; want the line of %d bytes that was written last", len(got), err, len(line))
		}
	}
	close(lines)
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("after the end: %q, %v", rest, err)
	}
}

func TestStreamOverTLS(t *testing.T) {
	for _, test := range []struct {
		name     string
		protocol string
		http2    bool
	}{
		{"HTTP/2", "HTTP/2.0", true},
		{"HTTP/1.1", "HTTP/1.1", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			lines := make(chan string)
			server := newStreamServer(t, socket.WriteTimeout, inTurn(lines))
			server.EnableHTTP2 = test.http2
			server.StartTLS()
			response := rawhttp.Get(t, server.Client(), server.URL, "Accept-Encoding", "identity")
			if response.Proto != test.protocol || response.Header.Get("Content-Encoding") != "" {
				t.Errorf("%s, %v", response.Proto, response.Header)
			}
			checkInTurn(t, lines, response.Body)
		})
	}
}

func TestStreamOverTLSHasOneChunkPerFrame(t *testing.T) {
	server := newStreamServer(t, socket.WriteTimeout, func(_ context.Context, s *Stream) error {
		s.frame([]byte("one\n"))
		s.event(encoding.Added, []byte("{}"))
		return s.Flush()
	})
	server.StartTLS()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err := dialer.DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(conn)
	rawhttp.ReadHead(t, r)
	body, err := io.ReadAll(r)
	if want := "4\r\none\n\r\n1d\r\n{\"type\":\"ADDED\",\"object\":{}}\n\r\n0\r\n\r\n"; err != nil || string(body) != want {
		t.Errorf("body %q, %v; want %q", body, err, want)
	}
}

func TestStreamOverHTTP10EndsWithTheConnection(t *testing.T) {
	server := newStreamServer(t, socket.WriteTimeout, func(_ context.Context, s *Stream) error { return s.Write([]byte("one\n")) })
	server.Start()
	_, r := rawhttp.Connect(t, server.Listener.Addr().String(), "GET / HTTP/1.0\r\n\r\n")
	if head := rawhttp.ReadHead(t, r); strings.Contains(head, "chunked") {
		t.Errorf("head %q", head)
	}
	if body, err := io.ReadAll(r); err != nil || string(body) != "one\n" {
		t.Errorf("body %q, %v", body, err)
	}
}

// TestStreamLeavesRevisionsWhole checks that a stream writes the collected frames between two revisions, and within a revision only when
// MaxCollected bytes are collected.
func TestStreamLeavesRevisionsWhole(t *testing.T) {
	frame := []byte(strings.Repeat("x", flushSize/4-1) + "\n")
	written := make(chan int64, 3)
	var server *streamServer
	server = newStreamServer(t, socket.WriteTimeout, func(_ context.Context, s *Stream) error {
		count := func(frames int) {
			before := server.writes.Load()
			for range frames {
				s.frame(frame)
			}
			written <- server.writes.Load() - before
		}
		count(5)
		before := server.writes.Load()
		s.FlushIfLarge()
		written <- server.writes.Load() - before
		count(MaxCollected / len(frame))
		return s.Flush()
	})
	server.Start()
	_, r := rawhttp.Connect(t, server.Listener.Addr().String(), rawhttp.Request)
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Fatal(err)
	}
	if n := <-written; n != 0 {
		t.Errorf("a revision of %d bytes left in %d writes before it was whole", 5*len(frame), n)
	}
	if n := <-written; n != 1 {
		t.Errorf("%d writes between two revisions, want 1", n)
	}
	if n := <-written; n != 1 {
		t.Errorf("%d writes while a revision of %d bytes was collected, want 1", n, MaxCollected)
	}
}

// TestStreamOfStalledClientIsCut checks, for each transport, that a client that reads nothing finds a broken stream when it reads again.
func TestStreamOfStalledClientIsCut(t *testing.T) {
	for _, test := range []struct {
		name   string
		coding string
		start  func(*streamServer)
	}{
		{"HTTP/1.1", "identity", func(s *streamServer) { s.Start() }},
		{"HTTP/1.1 compressed", "gzip", func(s *streamServer) { s.Start() }},
		{"HTTP/1.1 with TLS", "identity", func(s *streamServer) { s.StartTLS() }},
		{"HTTP/2", "identity", func(s *streamServer) { s.EnableHTTP2 = true; s.StartTLS() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			result := make(chan error, 1)
			server := newStreamServer(t, 100*time.Millisecond, func(_ context.Context, s *Stream) error {
				noise := make([]byte, 64<<10)
				source := rand.NewChaCha8([32]byte{})
				for {
					_, _ = source.Read(noise) // never fails
					if err := s.Write(noise); err != nil {
						result <- err
						return err
					}
				}
			})
			test.start(server)
			response := rawhttp.Get(t, server.Client(), server.URL, "Accept-Encoding", test.coding)
			if err := <-result; !errors.Is(err, socket.ErrStalled) {
				t.Errorf("the stream ended with %v, want that it stalled", err)
			}
			if _, err := io.Copy(io.Discard, response.Body); err == nil {
				t.Error("the client took the stream for complete")
			}
		})
	}
}

// pipeListener accepts pipes that belong to the bubble of a synctest.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

func (l *pipeListener) dial() net.Conn {
	client, server := net.Pipe()
	l.conns <- server
	return client
}

// serveInBubble serves one stream over a pipe. When serve returns, ended receives the time since the call.
func serveInBubble(t *testing.T, request string, serve func(context.Context, *Stream) error) (client net.Conn, r *bufio.Reader, ended <-chan time.Duration) {
	t.Helper()
	shared := NewOpener(nil, response.NewCompressors())
	began, result := time.Now(), make(chan time.Duration, 1)
	listener := newPipeListener()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { result <- time.Since(began) }()
		serveStream(shared.NewStream(w, r), r, serve)
	})}
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(listener) })
	client = listener.dial()
	t.Cleanup(func() {
		_ = client.Close()
		_ = server.Close()
		running.Wait()
	})
	if _, err := io.WriteString(client, request); err != nil {
		t.Fatal(err)
	}
	r = bufio.NewReader(iotest.OneByteReader(client)) // reads no more bytes than requested
	rawhttp.ReadHead(t, r)
	return client, r, result
}

func TestStreamIsCutAfterStallLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, ended := serveInBubble(t, rawhttp.Request, func(_ context.Context, s *Stream) error { return s.Write([]byte("the client does not read this\n")) })
		if after := <-ended; after != socket.WriteTimeout {
			t.Errorf("cut after %v, want %v", after, socket.WriteTimeout)
		}
	})
}

func TestStreamOfSlowClientIsNotCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, r, ended := serveInBubble(t, rawhttp.Request, func(_ context.Context, s *Stream) error {
			return s.Write([]byte(strings.Repeat("x", 100) + "\n"))
		})
		var body strings.Builder
		for !strings.HasSuffix(body.String(), "0\r\n\r\n") {
			<-time.After(socket.WriteTimeout - time.Second)
			b, err := r.ReadByte()
			if err != nil {
				t.Fatalf("after %q: %v", body.String(), err)
			}
			body.WriteByte(b)
		}
		<-ended
	})
}

// event adds the frame of one event.
func (s *Stream) event(t encoding.EventType, object []byte) {
	s.Add(func(dst []byte) []byte { return encoding.AppendEvent(dst, t, object) })
}
