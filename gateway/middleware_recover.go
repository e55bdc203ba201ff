package gateway

import (
	"errors"
	"net/http"
)

// recoverPanic keeps a mistake of ours from ending more than one request. An answer that has begun is broken: its client must not
// take it for complete.
func (c *chain) recoverPanic(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun, w := record(w)
		defer func() {
			reason := recover()
			if reason == nil {
				return
			}
			if err, ok := reason.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(reason) // meant: the connection must break
			}
			logPanic(c.logger, reason, "method", r.Method, "path", r.URL.Path)
			if begun.status != 0 {
				panic(http.ErrAbortHandler)
			}
			c.responder.fail(w, r, errInternal)
		}()
		next.ServeHTTP(w, r)
	})
}
