package gateway

import (
	"encoding/json"
	"net/http"
	"runtime/debug"
	"strings"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/encoding"
)

func (h *apiHandler) serveCoreVersions(w http.ResponseWriter, r *http.Request) {
	d := h.catalog.current().documents.discovery
	// the address by which the client reached the server
	address := metav1.ServerAddressByClientCIDR{ClientCIDR: "0.0.0.0/0", ServerAddress: r.Host}
	versions := metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: d.coreVersions,
		ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{address}}
	h.serveDiscovery(w, r, represent("application/json", versions), d.aggregatedCore)
}

func (h *apiHandler) serveGroups(w http.ResponseWriter, r *http.Request) {
	d := h.catalog.current().documents.discovery
	h.serveDiscovery(w, r, d.groups, d.aggregatedGroups)
}

func (h *apiHandler) serveGroup(w http.ResponseWriter, r *http.Request, p requestPath) {
	document, ok := h.catalog.current().documents.discovery.group[p.Group]
	if !ok {
		notFound(w, r)
		return
	}
	h.serveDiscovery(w, r, document)
}

func (h *apiHandler) serveResources(w http.ResponseWriter, r *http.Request, p requestPath) {
	version := schema.GroupVersion{Group: p.Group, Version: p.Version}
	document, ok := h.catalog.current().documents.discovery.resources[version]
	if !ok {
		notFound(w, r)
		return
	}
	h.serveDiscovery(w, r, document)
}

// serveDiscovery answers with the first of the forms, in the order of the client's preference, that it can read.
func (h *apiHandler) serveDiscovery(w http.ResponseWriter, r *http.Request, forms ...representation) {
	for _, c := range parseAccept(strings.Join(r.Header.Values("Accept"), ",")) {
		for _, form := range forms {
			if accepted, ok := acceptDiscovery(c, form); ok {
				w.Header().Set("Cache-Control", "public")
				accepted.serve(w, r)
				return
			}
		}
	}
	w.Header().Add("Vary", "Accept")
	h.responder.fail(w, r, notAcceptable("only the following media types are accepted: "+jsonType+", "+yamlType))
}

func (h *apiHandler) serveVersion(w http.ResponseWriter, r *http.Request) {
	build, _ := debug.ReadBuildInfo() // nil in a program built without modules
	document, err := json.Marshal(versionInfo(h.version, build))
	if err != nil {
		h.responder.fail(w, r, err)
		return
	}
	respond(w, r, http.StatusOK, document)
}

// acceptDiscovery is a document in JSON or YAML, as a clause of an Accept header accepts it; false: the clause does not.
func acceptDiscovery(c clause, document representation) (representation, bool) {
	switch {
	case document.contentType == aggregatedType:
		return document, acceptsAggregated(c)
	case c.mediaType() == yamlType && !c.transforms():
		text, err := encoding.YAML(document.body)
		return newRepresentation(yamlType, text), err == nil
	}
	return document, c.acceptsJSON()
}

func acceptsAggregated(c clause) bool {
	return c.media == "application/json" && c.parameters["g"] == apidiscovery.GroupName && c.parameters["v"] == "v2" &&
		c.parameters["as"] == "APIGroupDiscoveryList"
}
