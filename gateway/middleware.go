package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"revtail/gateway/console"
	"revtail/gateway/resource"
)

type contextKey int

const (
	headKey contextKey = iota
	accessKey
	callerKey
)

// headIsGet answers HEAD as GET; net/http leaves out the body.
func headIsGet(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			r = r.WithContext(context.WithValue(r.Context(), headKey, true))
			r.Method = http.MethodGet
		}
		next.ServeHTTP(w, r)
	})
}

// isHead tells whether nobody will read the body.
func isHead(r *http.Request) bool { return r.Context().Value(headKey) != nil }

// identify gives every answer a number of its own and the headers that all answers have.
func (s *Server) identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Audit-Id", uuid.NewString())
		h.Set("Cache-Control", "no-cache, private")
		h.Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// recoverPanic keeps a mistake of ours from ending more than one request. An answer that has begun is broken: its client must not
// take it for complete.
func (s *Server) recoverPanic(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := &recorder{ResponseWriter: w}
		defer func() {
			reason := recover()
			if reason == nil {
				return
			}
			if err, ok := reason.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(reason) // meant: the connection must break
			}
			logPanic(s.options.Logger, reason, "method", r.Method, "path", r.URL.Path)
			if begun.status != 0 {
				panic(http.ErrAbortHandler)
			}
			s.responder.fail(w, r, errInternal)
		}()
		next.ServeHTTP(begun, r)
	})
}

func logPanic(logger *slog.Logger, reason any, about ...any) {
	logger.Error("panic while answering a request", append(about, "panic", reason, "stack", string(debug.Stack()))...)
}

// maxQuery bounds the query of a URL, in bytes.
const maxQuery = 32 << 10

// maxHeaders bounds how many values the headers of a request have in all. A browser behind several proxies sends some fifty.
const maxHeaders = 256

// limitHeaders refuses requests with more of them. How many bytes they have is bounded before.
func limitHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		count := 0
		for _, values := range r.Header {
			count += len(values)
		}
		if count > maxHeaders {
			writeStatus(w, r, &apierrors.StatusError{ErrStatus: *newStatus(http.StatusRequestHeaderFieldsTooLarge, "RequestHeaderFieldsTooLarge",
				fmt.Sprintf("the request has %d headers: %d at most", count, maxHeaders))})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// limitQuery refuses queries that are too long or malformed. From here on queryOf has what was parsed.
func limitQuery(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.URL.RawQuery) > maxQuery {
			writeStatus(w, r, badRequest("the query is longer than %d bytes", maxQuery))
			return
		}
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			writeStatus(w, r, badRequest("the query is malformed: %v", err))
			return
		}
		r.Form = query
		next.ServeHTTP(w, r)
	})
}

// limitTime ends a request after the timeout that it asks for. A watch has timeoutSeconds for that.
func (s *Server) limitTime(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := queryOf(r)
		text := query.Get("timeout")
		if text == "" || r.Method == http.MethodGet && boolParam(query, "watch") {
			next.ServeHTTP(w, r)
			return
		}
		timeout, err := time.ParseDuration(text)
		if err != nil {
			s.responder.fail(w, r, badRequest("invalid timeout specified in the request URL - %v", err))
			return
		}
		if timeout > 0 {
			ctx, cancel := context.WithTimeout(r.Context(), timeout)
			defer cancel()
			r = r.WithContext(ctx)
		}
		next.ServeHTTP(w, r)
	})
}

// pathOf is the decoded path of the segments of an escaped one. A slash at the end is dropped, but for keys, where it tells a
// prefix from a key, and for the console, whose files are relative to it.
func pathOf(escaped string, segments []string) string {
	path := "/" + strings.Join(segments, "/")
	if (isKeysPath(path) || path+"/" == console.Path) && strings.HasSuffix(escaped, "/") {
		path += "/"
	}
	return path
}

func isKeysPath(path string) bool { return path == keysPath || strings.HasPrefix(path, keysPath+"/") }

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
