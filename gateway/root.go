package gateway

import (
	"net/http"

	"revtail/gateway/console"
	"revtail/gateway/http/response"
)

// serveRoot lists the paths of the server, and redirects a browser to the console.
func serveRoot(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Accept")
	if response.WantsHTML(r) {
		http.Redirect(w, r, console.Path, http.StatusSeeOther)
		return
	}
	writeText(w, http.StatusOK, `revtail: list and watch etcd over HTTP

  /api/v1, /apis            which resources there are; try /api/v1/configmaps?watch=true
  /v1/keys, /v1/txn         any key of etcd that is opened; /v1/openapi.json describes that
  /ui/                      a page that shows all this, for a browser
  /readyz?verbose, /livez   health
  /metrics                  figures for Prometheus
  /version                  what runs here
`)
}
