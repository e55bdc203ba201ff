package middleware

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"revtail/gateway/gatewaytest/rawhttp"
	"revtail/gateway/http/response"
	"revtail/gateway/watchcache"
)

// TestStalledResponseIsCut checks that a response breaks when the client reads nothing, as a cached list and in many writes, over HTTP/1.1,
// TLS and HTTP/2.
func TestStalledResponseIsCut(t *testing.T) {
	document := bytes.Repeat([]byte("x"), 64<<10)
	whole := &watchcache.List{Size: 512 * len(document), Text: func(yield func([]byte) bool) {
		for range 512 {
			if !yield(document) {
				return
			}
		}
	}}
	answers := map[string]func(w http.ResponseWriter, r *http.Request) error{
		"listing": func(w http.ResponseWriter, r *http.Request) error {
			return response.NewCachedList(nil, whole, 100*time.Millisecond).Write(w, r)
		},
		"pieces": func(w http.ResponseWriter, _ *http.Request) (err error) {
			for n := 0; n < 512 && err == nil; n++ {
				_, err = w.Write(document)
			}
			return err
		},
	}
	transports := map[string]func(*httptest.Server){
		"HTTP/1.1": func(s *httptest.Server) { s.Start() },
		"TLS":      func(s *httptest.Server) { s.StartTLS() },
		"HTTP/2":   func(s *httptest.Server) { s.EnableHTTP2 = true; s.StartTLS() },
	}
	for kind, answer := range answers {
		for transport, start := range transports {
			t.Run(kind+" "+transport, func(t *testing.T) {
				t.Parallel()
				c := &Chain{WriteTimeout: 100 * time.Millisecond}
				ended := make(chan error, 1)
				server := httptest.NewUnstartedServer(c.LimitWrites(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { ended <- answer(w, r) })))
				t.Cleanup(server.Close)
				start(server)
				response := rawhttp.Get(t, server.Client(), server.URL)
				if err := <-ended; err == nil {
					t.Error("32 MiB were written for a client that reads nothing")
				}
				if _, err := io.Copy(io.Discard, response.Body); err == nil {
					t.Error("the client got a complete response")
				}
			})
		}
	}
}
