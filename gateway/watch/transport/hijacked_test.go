package transport

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest/rawhttp"
	"revtail/gateway/netio/socket"
)

func TestHijackedConnectionWritesABatchAtOnce(t *testing.T) {
	var server *streamServer
	writes := make(chan int64, 1)
	server = newStreamServer(t, socket.WriteTimeout, func(_ context.Context, s *Stream) error {
		before := server.writes.Load()
		for range 100 {
			s.frame([]byte("a line\n"))
		}
		err := s.Flush()
		writes <- server.writes.Load() - before
		return err
	})
	server.Start()
	_, r := rawhttp.Connect(t, server.Listener.Addr().String(), rawhttp.Request)
	rawhttp.ReadHead(t, r)
	for range 100 {
		if chunk := rawhttp.ReadChunk(t, r); chunk != "a line\n" {
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

// TestHijackedConnectionNoticesItsClientLeave checks that the context ends when the client closes, whether or not it has sent bytes before.
func TestHijackedConnectionNoticesItsClientLeave(t *testing.T) {
	for _, more := range []string{"", rawhttp.Request, strings.Repeat("x", MaxClientBytes/2)} {
		cause := make(chan error, 1)
		server := newStreamServer(t, socket.WriteTimeout, func(ctx context.Context, _ *Stream) error {
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return nil
		})
		server.Start()
		conn, r := rawhttp.Connect(t, server.Listener.Addr().String(), rawhttp.Request+more)
		rawhttp.ReadHead(t, r)
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

func TestHijackedConnectionOfTalkativeClientEnds(t *testing.T) {
	cause := make(chan error, 1)
	server := newStreamServer(t, socket.WriteTimeout, func(ctx context.Context, _ *Stream) error {
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return nil
	})
	server.Start()
	conn, r := rawhttp.Connect(t, server.Listener.Addr().String(), rawhttp.Request)
	rawhttp.ReadHead(t, r)
	go func() { _, _ = conn.Write(make([]byte, 2*MaxClientBytes)) }()
	if err := <-cause; !errors.Is(err, socket.ErrPeerGone) {
		t.Errorf("the context ended with %v", err)
	}
}

func TestBrokenStreamHasNoEnd(t *testing.T) {
	server := newStreamServer(t, socket.WriteTimeout, func(_ context.Context, s *Stream) error {
		if err := s.Write([]byte("one\n")); err != nil {
			return err
		}
		return errors.New("meant by a test")
	})
	server.Start()
	response := rawhttp.Get(t, server.Client(), server.URL, "Accept-Encoding", "identity")
	if body, err := io.ReadAll(response.Body); err == nil {
		t.Errorf("the client took %q for complete", body)
	}
}
