package transport

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"revtail/gateway/http/response"
)

// FuzzOrigin checks that a page may open a WebSocket only if its origin has the host of the request, or is an allowed one. Allowed origins
// are no patterns.
func FuzzOrigin(f *testing.F) {
	for _, seed := range [][3]string{
		{"https://console.example", "https://console.example", "gateway.example"}, {"https://console.example", "https://console.example.evil.example", "gateway.example"},
		{"https://*.example", "https://evil.example", "gateway.example"}, {"https://[::1]:8443", "https://[::1]:8443", "gateway.example"},
		{"https://[a-z]", "https://e", "gateway.example"}, {"https://a", "http://a", "a:80"}, {"https://a", "null", "a"}, {"https://a", "https://gateway.example", "GATEWAY.example"},
		{"https://a", "", "a"}, {"https://a", "https://u@a", "b"}, {"https://a", "//a", "b"}, {"https://a", "a", ""},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	compressors := response.NewCompressors()
	f.Fuzz(func(t *testing.T, allowed, origin, host string) {
		if http.NewCrossOriginProtection().AddTrustedOrigin(allowed) != nil {
			return // gateway.New refuses it
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/pods?watch=1", http.NoBody)
		r.Host = host
		for name, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==", "Origin": origin} {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder() // it cannot be hijacked, so that an accepted handshake fails too, but after its header
		if _, err := NewOpener([]string{allowed}, compressors).NewStream(w, r).openWebSocket(t.Context()); err == nil {
			t.Fatal("the handshake is complete")
		}
		accepted := w.Code == http.StatusSwitchingProtocols
		if !accepted && w.Code != http.StatusForbidden {
			t.Fatalf("%q, from %q: %d %s", host, origin, w.Code, w.Body)
		}
		u, err := url.Parse(origin)
		own := origin == "" || err == nil && strings.EqualFold(u.Host, host)
		trusted := err == nil && strings.EqualFold(u.Scheme+"://"+u.Host, allowed)
		if accepted != (own || trusted) {
			t.Errorf("a page of %q opens a WebSocket at %q, where %q is allowed: %v", origin, host, allowed, accepted)
		}
	})
}
