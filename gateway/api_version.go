package gateway

import (
	"encoding/json"
	"net/http"
	"runtime/debug"
)

func (h *apiHandler) serveVersion(w http.ResponseWriter, r *http.Request) {
	build, _ := debug.ReadBuildInfo() // nil in a program built without modules
	document, err := json.Marshal(versionInfo(h.version, build))
	if err != nil {
		h.responder.fail(w, r, err)
		return
	}
	respond(w, r, http.StatusOK, document)
}
