package http2

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	h2 "golang.org/x/net/http2"
)

// TestHandlersAreCalledAsByNetHTTP: nothing is missing where it is left out.
func TestHandlersAreCalledAsByNetHTTP(t *testing.T) {
	p := dial(t, time.Minute, 1<<20, 1<<20, func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, r.Method, " ", r.RequestURI, ", secure: ", r.TLS != nil)
	})
	for i, c := range []struct{ method, scheme, path, want string }{
		{"GET", "https", "/", "GET /, secure: true"},
		{"GET", "http", "/", "GET /, secure: true"}, // by a proxy that has forgotten what it was asked
		{"OPTIONS", "https", "*", ""},
	} {
		block := p.blockOf(":method", c.method, ":scheme", c.scheme, ":authority", "localhost", ":path", c.path)
		p.must(p.framer.WriteHeaders(h2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: block, EndStream: true, EndHeaders: true}))
		if body, err := p.body(); string(body) != c.want || err != nil {
			t.Errorf("%s %s by %s: %q, not %q; %v", c.method, c.path, c.scheme, body, c.want, err)
		}
	}
}
