package response

import (
	"net/http"

	"revtail/gateway/http/request"
)

const EventStream = "text/event-stream"

// WantsEventStream tells whether a client reads an event stream rather than JSON: the better clause of Accept decides.
func WantsEventStream(r *http.Request) bool {
	if request.WantsWebSocket(r) {
		return false
	}
	for _, c := range Accepted(r) {
		switch {
		case c.Media == EventStream:
			return true
		case c.MediaType() == JSON:
			return false
		}
	}
	return false
}
