package response

import (
	"net/http"
	"strings"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"revtail/gateway/http/request"
)

// WriteJSON writes a complete JSON document as it is, in the format that the client reads.
func WriteJSON(w http.ResponseWriter, r *http.Request, code int, document []byte) {
	WriteDocument(NewBody(w, r, code, nil), FormatOf(r), document)
}

// WriteDocument writes a document and ends the answer.
func WriteDocument(p *Body, f Format, document []byte) {
	p.writer.Header().Set("Content-Type", f.ContentType())
	p.Bytes = f.appendDocument(p.Bytes, document)
	p.Finish()
}

// wantsPretty tells whether a person reads the answer: by pretty=, or by the program that asks.
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

// Warn adds a Warning header (RFC 9111, section 5.5, as Kubernetes uses it); what a header cannot carry is dropped from text.
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
