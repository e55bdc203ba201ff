package gateway

import "net/http"

const eventStreamType = "text/event-stream"

// wantsEventStream tells whether a client reads an event stream rather than JSON: the better clause of Accept decides.
func wantsEventStream(r *http.Request) bool {
	if wantsWebSocket(r) {
		return false
	}
	for _, c := range acceptedClauses(r) {
		switch {
		case c.media == eventStreamType:
			return true
		case c.mediaType() == jsonType:
			return false
		}
	}
	return false
}
