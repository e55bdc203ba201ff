package middleware

import (
	"net/http"

	"revtail/gateway/access"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
)

// RefuseUpgrades answers 400 to the WebSocket handshake of a request that is not a watch.
func RefuseUpgrades(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if request.WantsWebSocket(r) && !access.InfoOf(r).IsStream() {
			response.WriteError(w, r, status.BadRequest("a WebSocket serves watches only: add watch=true to the query"))
			return
		}
		next.ServeHTTP(w, r)
	})
}
