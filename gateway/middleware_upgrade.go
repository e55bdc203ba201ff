package gateway

import "net/http"

// onlyWatchesUpgrade refuses the handshake of a WebSocket where no watch is asked for.
func onlyWatchesUpgrade(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if wantsWebSocket(r) && !wantsWatch(r) {
			writeStatus(w, r, badRequest("a WebSocket serves watches only: add watch=true to the query"))
			return
		}
		next.ServeHTTP(w, r)
	})
}
