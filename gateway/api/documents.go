package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding"
	"revtail/encoding/protobuf"
	"revtail/gateway/access"
	"revtail/gateway/api/discovery"
	"revtail/gateway/api/openapi"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
)

// ServeCoreVersions serves /api: the versions of the core group.
func (h *Handler) ServeCoreVersions(w http.ResponseWriter, r *http.Request) {
	d := h.Catalog.Current().Discovery
	address := metav1.ServerAddressByClientCIDR{ClientCIDR: "0.0.0.0/0", ServerAddress: r.Host}
	versions := metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: d.CoreVersions,
		ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{address}}
	h.serveDiscovery(w, r, response.NewDocument("application/json", versions), d.AggregatedCore)
}

// ServeGroups serves /apis: all other groups.
func (h *Handler) ServeGroups(w http.ResponseWriter, r *http.Request) {
	d := h.Catalog.Current().Discovery
	h.serveDiscovery(w, r, d.Groups, d.AggregatedGroups)
}

// ServeGroup serves the versions of a group.
func (h *Handler) ServeGroup(w http.ResponseWriter, r *http.Request) {
	h.serveDiscovery(w, r, h.Catalog.Current().Discovery.Group[access.InfoOf(r).Group])
}

// ServeResources serves the resources of a group and version.
func (h *Handler) ServeResources(w http.ResponseWriter, r *http.Request) {
	h.serveDiscovery(w, r, h.Catalog.Current().Discovery.Resources[access.InfoOf(r).GroupVersion])
}

// serveDiscovery responds with one of the forms of a document: the first, in the order of the client's preference, that it accepts. A
// document without a body does not exist.
func (h *Handler) serveDiscovery(w http.ResponseWriter, r *http.Request, forms ...response.Document) {
	if forms[0].Body == nil {
		response.NotFound(w, r)
		return
	}
	for _, c := range response.Accepted(r) {
		for _, form := range forms {
			if accepted, ok := acceptDiscovery(c, form); ok {
				w.Header().Set("Cache-Control", "public")
				accepted.Serve(w, r)
				return
			}
		}
	}
	h.notAcceptable(w, r, response.YAML+", "+protobuf.MediaType)
}

// notAcceptable responds with the media types of a document: JSON and others.
func (h *Handler) notAcceptable(w http.ResponseWriter, r *http.Request, other string) {
	w.Header().Add("Vary", "Accept")
	h.Responder.Error(w, r, response.NotAcceptable("only the following media types are accepted: "+response.JSON+", "+other))
}

// ServeVersion serves /version.
func (h *Handler) ServeVersion(w http.ResponseWriter, r *http.Request) {
	document, err := json.Marshal(discovery.VersionInfo(h.Build))
	if err != nil {
		h.Responder.Error(w, r, err)
		return
	}
	response.WriteJSON(w, r, http.StatusOK, document)
}

// acceptDiscovery returns a document in JSON, YAML or protobuf, as a media range of an Accept header asks for it; false: it does not accept it.
func acceptDiscovery(c response.MediaRange, document response.Document) (response.Document, bool) {
	switch {
	case document.ContentType == discovery.AggregatedType:
		return document, acceptsAggregated(c)
	case c.Media == protobuf.MediaType && !c.Transforms():
		return inProtobuf(document)
	case c.MediaType() == response.YAML && !c.Transforms():
		text, err := encoding.YAML(document.Body)
		return response.DocumentOf(response.YAML, text), err == nil
	}
	return document, c.AcceptsJSON()
}

// inProtobuf returns a document in protobuf. Its kind is one of version v1, whether or not it says so.
func inProtobuf(document response.Document) (response.Document, bool) {
	var meta metav1.TypeMeta
	if err := json.Unmarshal(document.Body, &meta); err != nil {
		return document, false
	}
	kind := protobuf.KindOf("v1", meta.Kind)
	if kind == nil {
		return document, false
	}
	message, err := kind.AppendObject(nil, document.Body)
	return response.DocumentOf(protobuf.MediaType, message), err == nil
}

func acceptsAggregated(c response.MediaRange) bool {
	return c.Media == "application/json" && c.Parameters["g"] == apidiscovery.GroupName && c.Parameters["v"] == "v2" &&
		c.Parameters["as"] == "APIGroupDiscoveryList"
}

// ServeOpenAPIIndex serves /openapi/v3: the URLs of the documents.
func (h *Handler) ServeOpenAPIIndex(w http.ResponseWriter, r *http.Request) {
	if err := response.NegotiateJSON(r); err != nil {
		h.Responder.Error(w, r, err)
		return
	}
	h.Catalog.Current().OpenAPI.Index().Serve(w, r)
}

// ServeOpenAPI serves the document of a group and version, whose path is "api/v1" or "apis/apps/v1". Clients may cache a document under
// the hash of its content for a year; an outdated hash is redirected to the current one.
func (h *Handler) ServeOpenAPI(w http.ResponseWriter, r *http.Request, path string) {
	part, ok := h.Catalog.Current().OpenAPI.Documents[path]
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
	forms := h.Catalog.Current().OpenAPI.V2
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
	h.notAcceptable(w, r, openapi.ProtobufV2)
}
