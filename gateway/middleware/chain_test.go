package middleware

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"revtail/gateway/http/response"
)

// failingHandler panics, before or after the header of the response.
type failingHandler struct{ begun bool }

func (h failingHandler) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if h.begun {
		w.WriteHeader(http.StatusOK)
	}
	panic("meant by a test")
}

// TestPanicOfAHandler checks that a panic is answered with 500, or breaks a response that has begun, and that the log has the reason and the
// stack of the panic, not that of a later one.
func TestPanicOfAHandler(t *testing.T) {
	for name, begun := range map[string]bool{"before the header": false, "after it": true} {
		t.Run(name, func(t *testing.T) {
			log := new(bytes.Buffer)
			logger := slog.New(slog.NewTextHandler(log, nil))
			c := &Chain{Logger: logger, Responder: response.NewResponder(logger)}
			w := httptest.NewRecorder()
			var broken error
			func() {
				defer func() { broken, _ = recover().(error) }()
				c.RecoverPanic(failingHandler{begun}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api", http.NoBody))
			}()
			if begun && !errors.Is(broken, http.ErrAbortHandler) || !begun && (broken != nil || w.Code != http.StatusInternalServerError) {
				t.Errorf("the response is %d, and the panic after it %v", w.Code, broken)
			}
			if got := log.String(); !strings.Contains(got, "failingHandler.ServeHTTP") || strings.Count(got, "meant by a test") != 1 {
				t.Errorf("the log has not the stack of the handler:\n%s", got)
			}
		})
	}
}
