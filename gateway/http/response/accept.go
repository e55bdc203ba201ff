package response

import (
	"cmp"
	"math"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"revtail/gateway/http/request"
	"revtail/gateway/http/status"
)

// MediaRange is one media range of an Accept header (RFC 9110, section 12.5.1).
type MediaRange struct {
	Media      string
	Parameters map[string]string
	quality    float64
}

// Accepted returns the media ranges of the Accept headers of a request, best first. A WebSocket that accepts everything has the
// parameter accept in their place, because a page cannot set the headers of a handshake.
func Accepted(r *http.Request) []MediaRange {
	header := strings.Join(r.Header.Values("Accept"), ",")
	if accept := request.Query(r).Get("accept"); accept != "" && (header == "" || header == "*/*") && request.WantsWebSocket(r) {
		header = accept
	}
	return ParseAccept(header)
}

// ParseAccept returns the media ranges of an Accept header, best first. Those of equal quality keep their order.
func ParseAccept(header string) []MediaRange {
	if strings.TrimSpace(header) == "" {
		return []MediaRange{{Media: "*/*", quality: 1}}
	}
	var ranges []MediaRange
	for text := range strings.SplitSeq(header, ",") {
		media, parameters, err := mime.ParseMediaType(text)
		if err != nil {
			continue
		}
		m := MediaRange{Media: media, Parameters: parameters, quality: 1}
		if q, ok := parseWeight(parameters["q"]); ok {
			m.quality = q
		}
		if m.quality > 0 {
			ranges = append(ranges, m)
		}
	}
	slices.SortStableFunc(ranges, func(a, b MediaRange) int { return cmp.Compare(b.quality, a.quality) })
	return ranges
}

// parseWeight returns the weight of a media range or a coding (RFC 9110, section 12.4.2), between 0 and 1. ok: the text is a number.
func parseWeight(text string) (weight float64, ok bool) {
	q, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(q) {
		return 0, false
	}
	return min(max(q, 0), 1), true
}

// The media types of responses.
const (
	JSON = "application/json"
	YAML = "application/yaml"
	// EventStream is the media type of server-sent events.
	EventStream = "text/event-stream"
)

// MediaType returns the media type, JSON or YAML, that the range includes; empty: none.
func (m MediaRange) MediaType() string {
	switch m.Media {
	case JSON, "application/*", "*/*", "*":
		return JSON
	case YAML:
		return YAML
	}
	return ""
}

// Transforms reports whether the client wants another kind than the object's, such as a Table: it does by the parameters as, g and v.
func (m MediaRange) Transforms() bool {
	return m.Parameters["as"] != "" || m.Parameters["g"] != "" || m.Parameters["v"] != ""
}

// AcceptsJSON reports whether the range includes the plain JSON of an object.
func (m MediaRange) AcceptsJSON() bool {
	stream := m.Parameters["stream"]
	return m.MediaType() == JSON && !m.Transforms() && (stream == "" || stream == "watch")
}

// NegotiateJSON returns a Status, 406, unless the client accepts plain JSON.
func NegotiateJSON(r *http.Request) error {
	if slices.ContainsFunc(Accepted(r), MediaRange.AcceptsJSON) {
		return nil
	}
	return NotAcceptable("only the following media types are accepted: " + JSON)
}

// NotAcceptable returns an error with Status 406.
func NotAcceptable(message string) error {
	return status.Error(http.StatusNotAcceptable, "NotAcceptable", message)
}

// WantsHTML reports whether the client accepts HTML, as a browser does that opens a page.
func WantsHTML(r *http.Request) bool {
	return slices.ContainsFunc(Accepted(r), func(m MediaRange) bool { return m.Media == "text/html" })
}

// WantsEventStream reports whether a client prefers an event stream (server-sent events) to JSON.
func WantsEventStream(r *http.Request) bool {
	if request.WantsWebSocket(r) {
		return false
	}
	for _, m := range Accepted(r) {
		switch {
		case m.Media == EventStream:
			return true
		case m.MediaType() == JSON:
			return false
		}
	}
	return false
}
