package gateway

import (
	"net/http"
	"strings"

	"revtail/gateway/resource"
)

// cleanPath lets only paths through of which every segment can be a part of an etcd key, and hands on the decoded path:
// behind it there is one way to read a URL.
func cleanPath(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		escaped := r.URL.EscapedPath()
		segments, err := resource.ParsePath(escaped)
		if err != nil {
			if isKeysPath(escaped) {
				writeStatus(w, r, badRequest("%v: say such a key in the query, as %s?key=…, or in base64 with key64=", err, keysPath))
				return
			}
			if strings.Contains(escaped, "//") {
				notFound(w, r) // as kube-apiserver answers
				return
			}
			writeStatus(w, r, badRequest("%v", err))
			return
		}
		r.URL.Path, r.URL.RawPath = pathOf(escaped, segments), ""
		next.ServeHTTP(w, r)
	})
}
