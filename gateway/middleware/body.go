package middleware

import (
	"io"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
)

// maxGetBody is the largest body of a GET that is discarded, in bytes. A larger one is answered with 413.
const maxGetBody = 64 << 10

// LimitBody sets the read deadline of a request with a body, after request.BodyTimeout. It does so for every handler, because net/http reads
// a body that the handler ignores, to find the next request. LimitBody discards the body of a GET, which has no meaning, and answers 413 if
// it is larger than 64 KiB or cannot be read.
func LimitBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			// It fails only in tests, with a ResponseWriter without deadlines.
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(request.BodyTimeout(r.ContentLength)))
		}
		if r.Method == http.MethodGet && r.ContentLength != 0 {
			if !dropBody(w, r) {
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// dropBody discards the body of a GET. It returns false if it has answered the request with 413, because the body was too large or could not
// be read.
func dropBody(w http.ResponseWriter, r *http.Request) bool {
	n, err := io.Copy(io.Discard, io.LimitReader(r.Body, maxGetBody+1))
	if err != nil || n > maxGetBody {
		// Many clients read the response only after they have sent the body.
		_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, request.MaxDiscard))
		response.WriteError(w, r, apierrors.NewRequestEntityTooLargeError("a GET has no body"))
		return false
	}
	request.ClearBodyTimeout(w)
	return true
}
