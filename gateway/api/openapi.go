package api

import (
	"net/http"
	"strings"
	"time"

	"revtail/gateway/api/openapi"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
)

// ServeOpenAPIIndex serves /openapi/v3: the URLs of the documents.
func (h *Handler) ServeOpenAPIIndex(w http.ResponseWriter, r *http.Request) {
	if err := response.NegotiateJSON(r); err != nil {
		h.Responder.Error(w, r, err)
		return
	}
	h.Catalog.Current().Documents.OpenAPI.Index().Serve(w, r)
}

// ServeOpenAPI serves the document of a group and version, whose path is "api/v1" or "apis/apps/v1". Clients may cache a document under
// the hash of its content for a year; an outdated hash is redirected to the current one.
func (h *Handler) ServeOpenAPI(w http.ResponseWriter, r *http.Request, path string) {
	part, ok := h.Catalog.Current().Documents.OpenAPI.Documents[path]
	if !ok {
		response.NotFound(w, r)
		return
	}
	if err := response.NegotiateJSON(r); err != nil {
		h.Responder.Error(w, r, err)
		return
	}
	document := part.Render()
	switch request.Query(r).Get("hash") {
	case "":
	case document.Hash():
		w.Header().Set("Cache-Control", "public, immutable")
		w.Header().Set("Expires", time.Now().AddDate(1, 0, 0).UTC().Format(http.TimeFormat))
	default:
		http.Redirect(w, r, openapi.URL(path, document), http.StatusMovedPermanently)
		return
	}
	document.Serve(w, r)
}

// ServeOpenAPIV2 serves /openapi/v2 in JSON or protobuf: the first, in the order of the client's preference, that it accepts.
func (h *Handler) ServeOpenAPIV2(w http.ResponseWriter, r *http.Request) {
	forms := h.Catalog.Current().Documents.OpenAPI.V2
	accept := strings.ReplaceAll(strings.Join(r.Header.Values("Accept"), ","), "spec.v2@v1.0", "spec.v2.v1.0")
	for _, c := range response.ParseAccept(accept) {
		switch {
		case c.Media == openapi.ProtobufV2:
			forms.Protobuf().Serve(w, r)
			return
		case c.AcceptsJSON():
			forms.JSON().Serve(w, r)
			return
		}
	}
	w.Header().Add("Vary", "Accept")
	h.Responder.Error(w, r, response.NotAcceptable("only the following media types are accepted: "+response.JSON+", "+openapi.ProtobufV2))
}
