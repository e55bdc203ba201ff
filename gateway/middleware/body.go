package middleware

import (
	"io"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
)

// maxGetBody is how many bytes of the body of a GET are read and ignored.
const maxGetBody = 64 << 10

// LimitBody gives a body its time, whoever reads it: where the handler does not, net/http does, to find the next request. A GET
// needs none.
func LimitBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(request.BodyTimeout(r.ContentLength))) // a transport without deadlines is a test's
		}
		if r.Method == http.MethodGet && r.ContentLength != 0 {
			if !dropBody(w, r) {
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// dropBody reads and ignores the body of a GET; false: it was too large, and the request has been answered.
func dropBody(w http.ResponseWriter, r *http.Request) bool {
	n, err := io.Copy(io.Discard, io.LimitReader(r.Body, maxGetBody+1))
	if err != nil || n > maxGetBody {
		_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, request.MaxDiscard)) // its sender gets to read the answer
		response.WriteError(w, r, apierrors.NewRequestEntityTooLargeError("a GET has no body"))
		return false
	}
	request.ClearBodyTimeout(w)
	return true
}
