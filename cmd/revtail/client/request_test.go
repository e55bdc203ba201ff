package client_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"revtail/cmd/revtail/client"
)

// TestDo checks which requests are sent again: those that no gateway has carried out, and reads.
func TestDo(t *testing.T) {
	status := func(code int, retryAfter string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if retryAfter != "" {
				w.Header().Set("Retry-After", retryAfter)
			}
			w.WriteHeader(code)
		}
	}
	broken := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for _, tt := range []struct {
		name          string
		method        string
		first, second http.HandlerFunc // of two gateways; second of the first one's second request too
		requests      int32
		code          int // of the error; 0: none
	}{
		{"done", "PUT", status(201, ""), nil, 1, 0},
		{"429 is tried again", "PUT", status(429, "1"), status(200, ""), 2, 0},
		{"503 is tried again", "DELETE", status(503, "1"), status(200, ""), 2, 0},
		{"504 has an unknown outcome", "PUT", status(504, "1"), status(200, ""), 1, 504},
		{"500 too", "POST", status(500, ""), status(200, ""), 1, 500},
		{"a conflict is permanent", "PUT", status(409, ""), status(200, ""), 1, 409},
		{"a lost response has an unknown outcome", "POST", broken, status(200, ""), 1, -1},
		{"a read is sent to the next gateway", "GET", broken, status(200, ""), 2, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var requests atomic.Int32
			handle := func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if want := "a body"; err != nil || r.Method != http.MethodGet && string(body) != want || r.URL.Path != "/v1/keys/a b" || r.URL.Query().Get("q") != "1" {
					t.Errorf("%s %s has the body %q, %v", r.Method, r.URL, body, err)
				}
				if requests.Add(1) == 1 {
					tt.first(w, r)
					return
				}
				tt.second(w, r)
			}
			one, two := httptest.NewServer(http.HandlerFunc(handle)), httptest.NewServer(http.HandlerFunc(handle))
			defer one.Close()
			defer two.Close()
			c, err := client.New(client.Config{Servers: []string{"http://127.0.0.1:1", one.URL, two.URL}, NoProxy: true})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			request := client.Request{Method: tt.method, Path: "/v1/keys/a b", Query: map[string][]string{"q": {"1"}}}
			if tt.method != http.MethodGet {
				request.Body = []byte("a body")
			}
			resp, err := c.Do(t.Context(), request)
			if resp != nil {
				_ = resp.Body.Close()
			}
			got := fmt.Sprintf("%d requests, failed: %t", requests.Load(), err != nil)
			if want := fmt.Sprintf("%d requests, failed: %t", tt.requests, tt.code != 0); got != want || tt.code > 0 && !client.HasCode(err, tt.code) {
				t.Errorf("%s (%v), want %s and the code %d", got, err, want, tt.code)
			}
		})
	}
}
