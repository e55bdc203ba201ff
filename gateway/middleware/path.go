package middleware

import (
	"net/http"
	"strings"

	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
	"revtail/gateway/resource"
)

// CleanPath decodes the path of a URL once, into r.URL.Path, and clears r.URL.RawPath, because all handlers after it must read the URL in the
// same way. It answers 400 unless every segment can be a part of an etcd key, and 404 to an empty segment outside of the keys API.
func CleanPath(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		escaped := r.URL.EscapedPath()
		segments, err := resource.ParsePath(escaped)
		if err != nil {
			if request.IsKeysPath(escaped) {
				response.WriteError(w, r, status.BadRequest("%v: say such a key in the query, as %s?key=…, or in base64 with key64=", err, request.KeysPath))
				return
			}
			if strings.Contains(escaped, "//") {
				response.NotFound(w, r) // the same as kube-apiserver
				return
			}
			response.WriteError(w, r, status.BadRequest("%v", err))
			return
		}
		r.URL.Path, r.URL.RawPath = request.DecodePath(escaped, segments), ""
		next.ServeHTTP(w, r)
	})
}
