package gateway

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"revtail/gateway/netio/socket"
)

// readChunk reads a chunk as it stands on the wire.
func readChunk(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	size, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseUint(strings.TrimSuffix(size, "\r\n"), 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	chunk := make([]byte, n+2)
	if _, err := io.ReadFull(r, chunk); err != nil {
		t.Fatal(err)
	}
	if string(chunk[n:]) != "\r\n" {
		t.Fatalf("the chunk %q does not end as one", chunk)
	}
	return string(chunk[:n])
}

// TestWatchIsOneChunkPerEvent reads the bytes of a watch from head to end.
func TestWatchIsOneChunkPerEvent(t *testing.T) {
	s := newTestServer(t)
	revision := s.create("first")
	_, r := connect(t, strings.TrimPrefix(s.url, "http://"),
		"GET "+configMaps+"?watch=1&allowWatchBookmarks=1&resourceVersion="+revision+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
	head := readHead(t, r)
	for _, want := range []string{"HTTP/1.1 200 OK\r\n", "\r\nContent-Type: application/json\r\n", "\r\nTransfer-Encoding: chunked\r\n",
		"\r\nConnection: close\r\n", "\r\nCache-Control: no-cache, private\r\n", "\r\nAudit-Id: ", "\r\nDate: ", "\r\nVary: Accept-Encoding\r\n"} {
		if !strings.Contains(head, want) {
			t.Errorf("%q is missing from the head %q", want, head)
		}
	}
	for _, name := range []string{"second", "third"} {
		s.create(name)
		chunk := readChunk(t, r)
		if !strings.HasPrefix(chunk, `{"type":"ADDED","object":{`) || !strings.HasSuffix(chunk, "}\n") || strings.Count(chunk, "\n") != 1 ||
			!strings.Contains(chunk, `"name":"`+name+`"`) {
			t.Errorf("chunk %q", chunk)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.server.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	if chunk := readChunk(t, r); !strings.HasPrefix(chunk, `{"type":"BOOKMARK",`) {
		t.Errorf("the last chunk is %q, want a bookmark", chunk)
	}
	if rest, err := io.ReadAll(r); err != nil || string(rest) != "0\r\n\r\n" {
		t.Errorf("the end is %q, %v", rest, err)
	}
}

func TestTakenConnectionWritesABatchAtOnce(t *testing.T) {
	var server *streamServer
	writes := make(chan int64, 1)
	server = newStreamServer(t, writeTimeout, func(_ context.Context, s *stream) error {
		before := server.writes.Load()
		for range 100 {
			s.frame([]byte("a line\n"))
		}
		err := s.flush()
		writes <- server.writes.Load() - before
		return err
	})
	server.Start()
	_, r := connect(t, server.Listener.Addr().String(), plainRequest)
	readHead(t, r)
	for range 100 {
		if chunk := readChunk(t, r); chunk != "a line\n" {
			t.Fatalf("chunk %q", chunk)
		}
	}
	if n := <-writes; n != 1 {
		t.Errorf("100 frames left in %d writes, want 1", n)
	}
	if rest, err := io.ReadAll(r); err != nil || string(rest) != "0\r\n\r\n" {
		t.Errorf("the end is %q, %v", rest, err)
	}
}

// TestTakenConnectionNoticesItsClientLeave: the context ends, whether the client said something before or not.
func TestTakenConnectionNoticesItsClientLeave(t *testing.T) {
	for _, more := range []string{"", plainRequest, strings.Repeat("x", maxClientBytes/2)} {
		cause := make(chan error, 1)
		server := newStreamServer(t, writeTimeout, func(ctx context.Context, _ *stream) error {
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return nil
		})
		server.Start()
		conn, r := connect(t, server.Listener.Addr().String(), plainRequest+more)
		readHead(t, r)
		select {
		case err := <-cause:
			t.Fatalf("the stream ended before its client left: %v", err)
		default:
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-cause; !errors.Is(err, socket.ErrPeerGone) && !errors.Is(err, context.Canceled) {
			t.Errorf("the context ended with %v", err)
		}
	}
}

func TestTakenConnectionOfTalkativeClientEnds(t *testing.T) {
	cause := make(chan error, 1)
	server := newStreamServer(t, writeTimeout, func(ctx context.Context, _ *stream) error {
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return nil
	})
	server.Start()
	conn, r := connect(t, server.Listener.Addr().String(), plainRequest)
	readHead(t, r)
	go func() { _, _ = conn.Write(make([]byte, 2*maxClientBytes)) }()
	if err := <-cause; !errors.Is(err, socket.ErrPeerGone) {
		t.Errorf("the context ended with %v", err)
	}
}

func TestBrokenStreamHasNoEnd(t *testing.T) {
	server := newStreamServer(t, writeTimeout, func(_ context.Context, s *stream) error {
		if err := s.write([]byte("one\n")); err != nil {
			return err
		}
		return errInternal
	})
	server.Start()
	response := open(t, server.Client(), server.URL, "Accept-Encoding", "identity")
	if body, err := io.ReadAll(response.Body); err == nil {
		t.Errorf("the client took %q for complete", body)
	}
}

// TestWatchThatCannotBeTakenOver: HEAD, and a request whose body net/http still has to read.
func TestWatchThatCannotBeTakenOver(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.create("first")
	path := configMaps + "?watch=1&timeoutSeconds=1&resourceVersion=0"
	head := s.do(http.MethodHead, path, "")
	if head.code != http.StatusOK || head.header.Get("Content-Type") != "application/json" || head.body != "" {
		t.Errorf("HEAD: %+v", head)
	}
	if body := s.do(http.MethodGet, path, "a body"); body.code != http.StatusOK || strings.Count(body.body, "\n") != 1 {
		t.Errorf("GET with a body: %+v", body)
	}
}
