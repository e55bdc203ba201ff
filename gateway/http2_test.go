package gateway

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"revtail/gateway/middleware"
	"revtail/gateway/netio/http2"
	"revtail/gateway/watch/transport"
)

// TestStreamsAddNoHeader checks that streamField does not count for the limit of header fields.
func TestStreamsAddNoHeader(t *testing.T) {
	front := httptest.NewUnstartedServer(newTestServer(t).server)
	front.Listener, front.EnableHTTP2 = transport.Listen(front.Listener), true
	http2.Configure(front.Config)
	front.StartTLS()
	defer front.Close()
	for more, want := range map[int]int{0: http.StatusOK, 1: http.StatusRequestHeaderFieldsTooLarge} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, front.URL+"/livez", nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range middleware.MaxHeaders - 2 + more { // the client adds Accept-Encoding and User-Agent
			r.Header.Set(fmt.Sprint("X-", i), "1")
		}
		answer, err := front.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("with %d header fields above the limit: %s", more, answer.Status)
		}
	}
}
