package response

import (
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"revtail/gateway/http/request"
)

// Response headers of the keys API.
const (
	// RevisionHeader is the revision of the state in a response, also of one without a body.
	RevisionHeader = "Revtail-Revision"
	// TimeHeader is the time of that state, if the request asks for a time.
	TimeHeader = "Revtail-Time"
)

// WriteJSON answers a request with a JSON document, in the format that the client prefers.
func WriteJSON(w http.ResponseWriter, r *http.Request, code int, document []byte) {
	WriteDocument(NewBody(w, r, code, nil), FormatOf(r), document)
}

// WriteDocument writes a document and finishes the body.
func WriteDocument(p *Body, f Format, document []byte) {
	p.writer.Header().Set("Content-Type", f.ContentType())
	p.Bytes = f.appendDocument(p.Bytes, document)
	p.Finish()
}

// wantsPretty reports whether a person reads the response: by pretty=, or by the User-Agent.
func wantsPretty(r *http.Request) bool {
	if pretty, ok := readPretty(r); ok {
		return pretty
	}
	agent := r.UserAgent()
	return strings.HasPrefix(agent, "curl") || strings.HasPrefix(agent, "Wget") || strings.HasPrefix(agent, "Mozilla/5.0")
}

// readPretty returns the value of pretty=, if it is given.
func readPretty(r *http.Request) (pretty, given bool) {
	values, given := request.Query(r)["pretty"]
	return given && request.ParseBool(values[0]), given
}

// Warn adds a Warning header, as Kubernetes does (RFC 7234, section 5.5). It drops control characters of the text.
func Warn(w http.ResponseWriter, text string) {
	text = strings.Map(func(c rune) rune {
		if c < 0x20 || c == 0x7f {
			return -1
		}
		return c
	}, text)
	if header, err := utilnet.NewWarningHeader(299, "-", text); err == nil {
		w.Header().Add("Warning", header)
	}
}

// LogPanic logs the reason of a panic and the stack of the goroutine. about has further fields of the log line.
func LogPanic(logger *slog.Logger, reason any, about ...any) {
	logger.Error("panic while answering a request", append(about, "panic", reason, "stack", string(debug.Stack()))...)
}
