package middleware

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestNeedsSeats checks that only opened streams, and what must always be answered, need no seats.
func TestNeedsSeats(t *testing.T) {
	const maps = "/api/v1/namespaces/a/configmaps"
	for _, test := range []struct {
		method, target string
		want           bool
	}{
		{"GET", maps, true},
		{"GET", maps + "?watch=0", true},
		{"GET", maps + "?watch=1", false},
		{"GET", maps + "?w%61tch=1", false},
		{"GET", "/api/v1/watch/namespaces/a/configmaps", false},
		{"GET", "/api/v1/namespaces/watch/configmaps", true},
		{"GET", maps + "/one?watch=1", true},
		{"POST", maps + "?watch=1", true},
		{"DELETE", maps + "?watch=1", true},
		{"GET", maps + "?wait=1s", true},
		{"GET", "/v1/keys/app/?watch", false},
		{"GET", "/v1/keys/app/?since=1&wait=1s", false},
		{"GET", "/v1/keys/app/watch/", true},
		{"PUT", "/v1/keys/app/a?since=1&wait=1s", true},
		{"PUT", "/v1/keys/app/a?watch", true},
		{"POST", "/v1/txn?watch", true},
		{"GET", "/apis", true},
		{"GET", "/openapi/v3", true},
		{"GET", "/readyz", false},
		{"GET", "/metrics", false},
		{"GET", "/ui/", false},
	} {
		if got := needsSeats(httptest.NewRequest(test.method, test.target, http.NoBody)); got != test.want {
			t.Errorf("%s %s: %t", test.method, test.target, got)
		}
	}
}
