package api

import (
	"encoding/json"
	"net/http"
	"runtime/debug"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/encoding"
	"revtail/gateway/access"
	"revtail/gateway/api/discovery"
	"revtail/gateway/http/response"
)

// ServeCoreVersions serves /api: the versions of the core group.
func (h *Handler) ServeCoreVersions(w http.ResponseWriter, r *http.Request) {
	d := h.Catalog.Current().Documents.Discovery
	address := metav1.ServerAddressByClientCIDR{ClientCIDR: "0.0.0.0/0", ServerAddress: r.Host}
	versions := metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: d.CoreVersions,
		ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{address}}
	h.serveDiscovery(w, r, response.NewDocument("application/json", versions), d.AggregatedCore)
}

// ServeGroups serves /apis: all other groups.
func (h *Handler) ServeGroups(w http.ResponseWriter, r *http.Request) {
	d := h.Catalog.Current().Documents.Discovery
	h.serveDiscovery(w, r, d.Groups, d.AggregatedGroups)
}

// ServeGroup serves the versions of a group.
func (h *Handler) ServeGroup(w http.ResponseWriter, r *http.Request) {
	document, ok := h.Catalog.Current().Documents.Discovery.Group[access.InfoOf(r).Group]
	if !ok {
		response.NotFound(w, r)
		return
	}
	h.serveDiscovery(w, r, document)
}

// ServeResources serves the resources of a group and version.
func (h *Handler) ServeResources(w http.ResponseWriter, r *http.Request) {
	document, ok := h.Catalog.Current().Documents.Discovery.Resources[access.InfoOf(r).GroupVersion]
	if !ok {
		response.NotFound(w, r)
		return
	}
	h.serveDiscovery(w, r, document)
}

// serveDiscovery responds with one of the forms of a document: the first, in the order of the client's preference, that it accepts.
func (h *Handler) serveDiscovery(w http.ResponseWriter, r *http.Request, forms ...response.Document) {
	for _, c := range response.Accepted(r) {
		for _, form := range forms {
			if accepted, ok := acceptDiscovery(c, form); ok {
				w.Header().Set("Cache-Control", "public")
				accepted.Serve(w, r)
				return
			}
		}
	}
	w.Header().Add("Vary", "Accept")
	h.Responder.Error(w, r, response.NotAcceptable("only the following media types are accepted: "+response.JSON+", "+response.YAML))
}

// ServeVersion serves /version.
func (h *Handler) ServeVersion(w http.ResponseWriter, r *http.Request) {
	build, _ := debug.ReadBuildInfo() // nil in a program built without modules
	document, err := json.Marshal(discovery.VersionInfo(h.Version, build))
	if err != nil {
		h.Responder.Error(w, r, err)
		return
	}
	response.WriteJSON(w, r, http.StatusOK, document)
}

// acceptDiscovery returns a document in JSON or YAML, as a media range of an Accept header asks for it; false: it does not accept it.
func acceptDiscovery(c response.MediaRange, document response.Document) (response.Document, bool) {
	switch {
	case document.ContentType == discovery.AggregatedType:
		return document, acceptsAggregated(c)
	case c.MediaType() == response.YAML && !c.Transforms():
		text, err := encoding.YAML(document.Body)
		return response.DocumentOf(response.YAML, text), err == nil
	}
	return document, c.AcceptsJSON()
}

func acceptsAggregated(c response.MediaRange) bool {
	return c.Media == "application/json" && c.Parameters["g"] == apidiscovery.GroupName && c.Parameters["v"] == "v2" &&
		c.Parameters["as"] == "APIGroupDiscoveryList"
}
