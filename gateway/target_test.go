package gateway

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"revtail/etcdstore/memory"
)

// TestTargetBeforeDefinitions: until the definitions have been read nobody is told that a resource does not exist.
func TestTargetBeforeDefinitions(t *testing.T) {
	t.Parallel()
	const unknown = "/apis/example.com/v1/shirts"
	s, err := New(Options{Store: memory.New(), Prefix: "/registry"})
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, unknown, nil))
	if answer.Code != http.StatusTooManyRequests || answer.Header().Get("Retry-After") == "" {
		t.Errorf("before: %d %v %s, want 429 with Retry-After", answer.Code, answer.Header(), answer.Body)
	}
	close(s.defined)
	answer = httptest.NewRecorder()
	s.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, unknown, nil))
	if answer.Code != http.StatusNotFound {
		t.Errorf("after: %d %s, want 404", answer.Code, answer.Body)
	}
}
