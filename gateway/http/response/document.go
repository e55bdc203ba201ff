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

// Document is a document as it goes out, with what lets clients keep a copy of it (RFC 9110, sections 3.2 and 8.8.3).
type Document struct {
	ContentType string
	Body        []byte
	ETag        string // of the body alone, so that all replicas give the same one
}

// NewDocument renders value, which holds nothing that JSON cannot say.
func NewDocument(contentType string, value any) Document {
	body, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("gateway: %T cannot be rendered: %v", value, err))
	}
	return DocumentOf(contentType, append(body, '\n'))
}

func DocumentOf(contentType string, body []byte) Document {
	return Document{ContentType: contentType, Body: body, ETag: fmt.Sprintf("%q", fmt.Sprintf("%X", sha512.Sum512(body)))}
}

// Hash is the ETag without its quotes, for URLs.
func (p Document) Hash() string { return strings.Trim(p.ETag, `"`) }

// Serve answers 200 with the document, or 304 when the client has it already (If-None-Match).
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
