package response

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

// Document is a response body with an ETag, by which clients revalidate their copy (RFC 9110, section 8.8.3).
type Document struct {
	ContentType string
	Body        []byte
	ETag        string // a digest of the body, equal at all replicas
}

// NewDocument encodes a value as JSON. It panics if JSON cannot encode the value.
func NewDocument(contentType string, value any) Document {
	body, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("gateway: %T cannot be rendered: %v", value, err))
	}
	return DocumentOf(contentType, append(body, '\n'))
}

// DocumentOf returns the Document of a body.
func DocumentOf(contentType string, body []byte) Document {
	return Document{ContentType: contentType, Body: body, ETag: fmt.Sprintf("%q", fmt.Sprintf("%X", sha512.Sum512(body)))}
}

// Hash returns the ETag without quotes, for URLs.
func (p Document) Hash() string { return strings.Trim(p.ETag, `"`) }

// Serve answers 200 with the document, or 304 if the client has it (If-None-Match).
func (p Document) Serve(w http.ResponseWriter, r *http.Request) {
	if wantsPretty(r) {
		if indented, err := jsontext.Indent(p.Body); err == nil {
			p = DocumentOf(p.ContentType, indented)
		}
	}
	h := w.Header()
	h.Set("Content-Type", p.ContentType)
	h.Set("ETag", p.ETag)
	h.Add("Vary", "Accept")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(p.Body))
}
