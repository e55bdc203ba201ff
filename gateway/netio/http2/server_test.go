package http2

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	h2 "golang.org/x/net/http2"
)

// TestHandlersAreCalledAsByNetHTTP checks that handlers get the same requests as from net/http.
func TestHandlersAreCalledAsByNetHTTP(t *testing.T) {
	p := dial(t, time.Minute, 1<<20, 1<<20, func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, r.Method, " ", r.RequestURI, ", secure: ", r.TLS != nil)
	})
	for i, c := range []struct{ method, scheme, path, want string }{
		{"GET", "https", "/", "GET /, secure: true"},
		{"GET", "http", "/", "GET /, secure: true"}, // from a proxy that does not pass on the client's scheme
		{"OPTIONS", "https", "*", ""},
	} {
		block := p.blockOf(":method", c.method, ":scheme", c.scheme, ":authority", "localhost", ":path", c.path)
		p.must(p.framer.WriteHeaders(h2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: block, EndStream: true, EndHeaders: true}))
		if body, err := p.body(); string(body) != c.want || err != nil {
			t.Errorf("%s %s by %s: %q, not %q; %v", c.method, c.path, c.scheme, body, c.want, err)
		}
	}
}

// TestShutdown checks that a server that shuts down sends GOAWAY, lets the open streams end, closes the connection and returns.
func TestShutdown(t *testing.T) {
	for _, taken := range []bool{false, true} {
		t.Run(fmt.Sprintf("taken=%v", taken), func(t *testing.T) {
			begun, end := make(chan struct{}), make(chan struct{})
			server := newServer(time.Minute, func(w http.ResponseWriter, _ *http.Request) {
				if taken {
					stream := take(t, w)
					close(begun)
					go func() {
						<-end
						respond(t, stream, []byte("done"))
					}()
					return
				}
				close(begun)
				<-end
				_, _ = fmt.Fprint(w, "done")
			})
			defer server.Close()
			p := dialServer(t, server, 1<<20, 1<<20)
			p.ask(1, "/")
			<-begun

			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			shutdown := make(chan error, 1)
			go func() { shutdown <- server.Config.Shutdown(ctx) }()
			for goAway := false; !goAway; {
				frame, err := p.next()
				p.must(err)
				_, goAway = frame.(*h2.GoAwayFrame)
			}
			close(end)
			if body, err := p.body(); string(body) != "done" || err != nil {
				t.Errorf("the answer under way: %q, %v", body, err)
			}
			if err := <-shutdown; err != nil {
				t.Errorf("Shutdown: %v", err)
			}
		})
	}
}
