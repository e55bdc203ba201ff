package gateway

import (
	"bytes"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"revtail/encoding/jsontext"
)

// representation is a document as it goes out, with what lets clients keep a copy of it (RFC 9110, sections 3.2 and 8.8.3).
type representation struct {
	contentType string
	body        []byte
	etag        string // of the body alone, so that all replicas give the same one
}

// represent renders value, which holds nothing that JSON cannot say.
func represent(contentType string, value any) representation {
	body, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("gateway: %T cannot be rendered: %v", value, err))
	}
	return newRepresentation(contentType, append(body, '\n'))
}

func newRepresentation(contentType string, body []byte) representation {
	return representation{contentType: contentType, body: body, etag: fmt.Sprintf("%q", fmt.Sprintf("%X", sha512.Sum512(body)))}
}

// hash is the ETag without its quotes, for URLs.
func (p representation) hash() string { return strings.Trim(p.etag, `"`) }

// serve answers 200 with the document, or 304 when the client has it already (If-None-Match).
func (p representation) serve(w http.ResponseWriter, r *http.Request) {
	if wantsPretty(r) {
		if indented, err := jsontext.Indent(p.body); err == nil {
			p = newRepresentation(p.contentType, indented)
		}
	}
	h := w.Header()
	h.Set("Content-Type", p.contentType)
	h.Set("ETag", p.etag)
	h.Add("Vary", "Accept")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(p.body))
}
