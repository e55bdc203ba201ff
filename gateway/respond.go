package gateway

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"revtail/gateway/watchcache"
)

// respond writes a complete JSON document as it is, in the format that the client reads.
func respond(w http.ResponseWriter, r *http.Request, code int, document []byte) {
	send(newPayload(w, r, code, nil), formatOf(r), document)
}

// respondObject writes an object of the target's resource in the form that the client asks for: the answer to a write.
func (s *Server) respondObject(w http.ResponseWriter, r *http.Request, t target, code int, document []byte) {
	f, err := s.negotiateForm(r, anObject)
	if err != nil { // not reached: a write is negotiated before it is done
		s.responder.fail(w, r, err)
		return
	}
	if document, err = t.show(document); err != nil {
		s.responder.fail(w, r, err)
		return
	}
	send(newPayload(w, r, code, s.responder.compressors), f.format(r), f.view(t.shown()).object(document))
}

// send writes a document and ends the answer.
func send(p *payload, f format, document []byte) {
	p.writer.Header().Set("Content-Type", f.contentType())
	p.Bytes = f.appendDocument(p.Bytes, document)
	p.finish()
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
	values, given := queryOf(r)["pretty"]
	return given && parseBool(values[0]), given
}

// tellAge says how long ago what is answered from memory was known to be what etcd has (RFC 9111, section 5.1): while etcd cannot
// be reached, that grows.
func tellAge(w http.ResponseWriter, t target) {
	w.Header().Set("Age", strconv.Itoa(int(t.cache.Age().Seconds())))
}

// warn adds a Warning header (RFC 9111, section 5.5, as Kubernetes uses it); what a header cannot carry is dropped from text.
func warn(w http.ResponseWriter, text string) {
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

// warnInvalid names the values that an answer leaves out because they cannot be shown.
func (s *Server) warnInvalid(w http.ResponseWriter, t target, objects []*watchcache.Object, count int) {
	for _, o := range objects {
		key := t.Resource.Prefix(s.options.Prefix) + strings.TrimPrefix(o.Path(), "\x00") // which may be longer than a header
		warn(w, fmt.Sprintf("the value of the key %.256q is not shown: %v", key, o.Invalid))
	}
	if more := count - len(objects); more > 0 {
		warn(w, strconv.Itoa(more)+" more values are not shown because they cannot be decoded")
	}
}
