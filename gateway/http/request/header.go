package request

import (
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
)

// WantsWebSocket reports whether a request is the handshake of a WebSocket (RFC 6455).
func WantsWebSocket(r *http.Request) bool {
	return r.ProtoMajor == 1 && !IsHead(r) &&
		httpguts.HeaderValuesContainsToken(r.Header["Connection"], "upgrade") &&
		httpguts.HeaderValuesContainsToken(r.Header["Upgrade"], "websocket")
}

// WantsUpgrade reports whether the client wants another protocol on the connection, such as SPDY or WebSocket.
func WantsUpgrade(r *http.Request) bool {
	return r.ProtoMajor == 1 && !IsHead(r) && r.Header.Get("Upgrade") != "" && httpguts.HeaderValuesContainsToken(r.Header["Connection"], "upgrade")
}

// LastEventID returns the id of the last event that a client of an event stream has; empty: it names none. EventSource sends it in a
// header when it reconnects. A page can set it in the query, which the header overrides because it is newer.
func LastEventID(r *http.Request) string {
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		return id
	}
	return Query(r).Get("lastEventId")
}

// Program returns the program in a User-Agent header, the part before the first slash, as the name of a field manager.
func Program(userAgent string) string {
	name, _, _ := strings.Cut(userAgent, "/")
	var out strings.Builder
	for _, c := range name {
		if !unicode.IsPrint(c) {
			continue
		}
		if out.Len()+utf8.RuneLen(c) > metavalidation.FieldManagerMaxLength {
			break
		}
		out.WriteRune(c)
	}
	return out.String()
}
