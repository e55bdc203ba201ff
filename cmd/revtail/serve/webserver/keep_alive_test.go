package webserver

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"revtail/gateway/http/response"
	"revtail/gateway/netio/stranger"
	"revtail/gateway/watch/transport"
)

// TestKeptConnections checks that the connection of a stream that has ended serves further requests, counts once for the limit of its address, and is
// closed with the server, while it is idle too.
func TestKeptConnections(t *testing.T) {
	opener, limit := transport.NewOpener(nil, response.NewCompressors()), NewAddressLimit(1)
	limit.exempt = func(net.IP) bool { return false }
	stream := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := opener.NewStream(w, r)
		defer s.Close()
		if _, err := s.Open(r.Context()); err != nil {
			t.Error(err)
		}
		s.DetectClose()
		if err := s.Write([]byte("a line\n")); err != nil {
			t.Error(err)
		}
		_ = s.End() // a client that has left is no error
	})
	server := New(Options{Handler: stream, Limit: limit, Strangers: stranger.NewRegistry(), Logger: slog.New(slog.DiscardHandler)})
	if err := server.Listen(t.Context(), []string{"127.0.0.1:0"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(server.URLs()[0], "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	const request = "GET / HTTP/1.1\r\nHost: test\r\n\r\n"
	for _, requests := range []int{1, 3, 1} {
		if _, err := io.WriteString(conn, strings.Repeat(request, requests)); err != nil {
			t.Fatal(err)
		}
		for range requests {
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "a line\n" || resp.Close {
				t.Errorf("%q, %v, close: %v", body, err, resp.Close)
			}
		}
	}
	limit.mu.Lock()
	if open := limit.open["127.0.0.1"]; open != 1 {
		t.Errorf("%d connections count for the limit, want 1", open)
	}
	limit.mu.Unlock()
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("after the end of the server: %q, %v", rest, err)
	}
	limit.mu.Lock()
	defer limit.mu.Unlock()
	if len(limit.open) > 0 {
		t.Errorf("%v count for the limit after the end", limit.open)
	}
}
