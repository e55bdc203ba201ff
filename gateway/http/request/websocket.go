package request

import (
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// WantsWebSocket tells whether a request is the handshake of a WebSocket.
func WantsWebSocket(r *http.Request) bool {
	return r.ProtoMajor == 1 && !IsHead(r) &&
		httpguts.HeaderValuesContainsToken(r.Header["Connection"], "upgrade") &&
		httpguts.HeaderValuesContainsToken(r.Header["Upgrade"], "websocket")
}

// WantsWatch tells whether a request is one for a watch, by its query or in the legacy form.
func WantsWatch(r *http.Request) bool {
	segments := strings.Split(r.URL.Path, "/")
	legacy := len(segments) > 4 && (segments[1] == "api" && segments[3] == "watch" || segments[1] == "apis" && segments[4] == "watch")
	return r.Method == http.MethodGet && (legacy || Bool(Query(r), "watch"))
}
