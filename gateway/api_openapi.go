package gateway

import (
	"net/http"
	"strings"
	"time"
)

func (h *apiHandler) serveOpenAPIIndex(w http.ResponseWriter, r *http.Request) {
	if err := negotiateJSON(r); err != nil {
		h.responder.fail(w, r, err)
		return
	}
	h.catalog.current().documents.openAPI.index().serve(w, r)
}

// immutableFor is how long a document under the hash of its content may be kept: a year, the most that HTTP allows.
const immutableFor = 365 * 24 * time.Hour

// serveOpenAPI answers with the document of a group and version, whose path is "api/v1" or "apis/apps/v1". A document under the
// hash of its content may be kept; an outdated hash is redirected to the new one.
func (h *apiHandler) serveOpenAPI(w http.ResponseWriter, r *http.Request, path string) {
	part, ok := h.catalog.current().documents.openAPI.documents[path]
	if !ok {
		notFound(w, r)
		return
	}
	if err := negotiateJSON(r); err != nil {
		h.responder.fail(w, r, err)
		return
	}
	document := part.render()
	switch queryOf(r).Get("hash") {
	case "":
	case document.hash():
		w.Header().Set("Cache-Control", "public, immutable")
		w.Header().Set("Expires", time.Now().Add(immutableFor).UTC().Format(http.TimeFormat))
	default:
		http.Redirect(w, r, openAPIURL(path, document), http.StatusMovedPermanently)
		return
	}
	document.serve(w, r)
}

// serveOpenAPIV2 answers with the first of the forms, in the order of the client's preference, that it can read.
func (h *apiHandler) serveOpenAPIV2(w http.ResponseWriter, r *http.Request) {
	forms := h.catalog.current().documents.openAPI.v2
	accept := strings.ReplaceAll(strings.Join(r.Header.Values("Accept"), ","), "spec.v2@v1.0", "spec.v2.v1.0")
	for _, c := range parseAccept(accept) {
		switch {
		case c.media == protobufV2Type:
			forms.protobuf().serve(w, r)
			return
		case c.acceptsJSON():
			forms.json().serve(w, r)
			return
		}
	}
	w.Header().Add("Vary", "Accept")
	h.responder.fail(w, r, notAcceptable("only the following media types are accepted: "+jsonType+", "+protobufV2Type))
}
