package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"

	"revtail/gateway/resource"
)

type contextKey int

const (
	headKey contextKey = iota
	accessKey
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

// logAccess writes one line for each request, at debug level: a watch when it ends.
func (s *Server) logAccess(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.options.Logger.Enabled(r.Context(), slog.LevelDebug) {
			next.ServeHTTP(w, r)
			return
		}
		recorded := &recorder{ResponseWriter: w}
		a := &access{
			logger: s.options.Logger, began: time.Now(), method: r.Method, path: r.URL.Path, query: r.URL.RawQuery,
			client: r.RemoteAddr, agent: r.UserAgent(), audit: w.Header().Get("Audit-Id"),
		}
		defer func() {
			if !a.kept {
				a.status = recorded.status
				a.end()
			}
		}()
		next.ServeHTTP(recorded, r.WithContext(context.WithValue(r.Context(), accessKey, a)))
	})
}

// access is the line about a request.
type access struct {
	logger                                    *slog.Logger
	began                                     time.Time
	method, path, query, client, agent, audit string
	status                                    int
	kept                                      bool
}

// accessOf is nil, whose methods do nothing, where no line is wanted.
func accessOf(r *http.Request) *access {
	a, _ := r.Context().Value(accessKey).(*access)
	return a
}

// keep leaves it to the caller to end the request, which goes on when its handler has returned.
func (a *access) keep() {
	if a != nil {
		a.kept, a.status = true, http.StatusOK
	}
}

func (a *access) end() {
	if a == nil {
		return
	}
	a.logger.Debug("request", "method", a.method, "path", a.path, "query", a.query, "status", a.status, "duration", time.Since(a.began),
		"client", a.client, "agent", a.agent, "audit", a.audit)
}

// recorder remembers the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach what is below: flushes and deadlines.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// recoverPanic keeps a mistake of ours from ending more than one request.
func (s *Server) recoverPanic(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			reason := recover()
			if reason == nil {
				return
			}
			if err, ok := reason.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(reason) // meant: the connection must break
			}
			logPanic(s.options.Logger, reason, "method", r.Method, "path", r.URL.Path)
			s.fail(w, r, errInternal)
		}()
		next.ServeHTTP(w, r)
	})
}

func logPanic(logger *slog.Logger, reason any, about ...any) {
	logger.Error("panic while answering a request", append(about, "panic", reason, "stack", string(debug.Stack()))...)
}

// maxQuery bounds the query of a URL, in bytes.
const maxQuery = 32 << 10

// limitQuery refuses queries that are too long or malformed.
func limitQuery(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.URL.RawQuery) > maxQuery {
			writeStatus(w, r, badRequest("the query is longer than %d bytes", maxQuery))
			return
		}
		if _, err := url.ParseQuery(r.URL.RawQuery); err != nil {
			writeStatus(w, r, badRequest("the query is malformed: %v", err))
			return
		}
		next.ServeHTTP(w, r)
	})
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
		r.URL.Path, r.URL.RawPath = "/"+strings.Join(segments, "/"), ""
		if isKeysPath(r.URL.Path) && strings.HasSuffix(escaped, "/") {
			r.URL.Path += "/" // here it tells a prefix from a key
		}
		next.ServeHTTP(w, r)
	})
}
