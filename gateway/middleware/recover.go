package middleware

import (
	"errors"
	"net/http"

	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
)

// RecoverPanic logs a panic of a handler and answers the request with 500. If the header has been sent, RecoverPanic panics with
// http.ErrAbortHandler instead: net/http then breaks the connection or stream, because the client must not take the response for complete.
// It does not log http.ErrAbortHandler.
func (c *Chain) RecoverPanic(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun, w := response.Record(w)
		defer func() {
			reason := recover()
			if reason == nil {
				return
			}
			if err, ok := reason.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(reason) // intended: the connection must break
			}
			response.LogPanic(c.Logger, reason, "method", r.Method, "path", r.URL.Path)
			if begun.Status != 0 {
				panic(http.ErrAbortHandler)
			}
			c.Responder.Error(w, r, status.ErrInternal)
		}()
		next.ServeHTTP(w, r)
	})
}
