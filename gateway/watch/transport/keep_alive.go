package transport

import (
	"context"
	"net"
	"net/http"
)

// KeepAlive serves the next requests of an HTTP/1.1 connection whose stream has ended, and owns the connection from then on. received is what the
// client has sent after the request of the stream, the beginning of its next one. KeepAlive does not block.
type KeepAlive func(conn net.Conn, received []byte)

// maxReceived is how many bytes of its next requests a client may send before the stream has ended. The connection of a client that sends more is closed
// at the end of the stream.
const maxReceived = 8 << 10

type keepAliveKey struct{}

// NewContext returns a context for http.Server.BaseContext: the streams of the server's requests end without closing their connections.
func NewContext(ctx context.Context, k KeepAlive) context.Context {
	return context.WithValue(ctx, keepAliveKey{}, k)
}

// keepAliveOf returns the KeepAlive of NewContext for a request; nil: the connection closes after the response.
func keepAliveOf(w http.ResponseWriter, r *http.Request) KeepAlive {
	if r.Close || w.Header().Get("Connection") == "close" {
		return nil
	}
	k, _ := r.Context().Value(keepAliveKey{}).(KeepAlive)
	return k
}

// Receive appends what the client has sent to h.Received. If that is too much, the connection is not kept alive.
func (h *Handle) Receive(sent []byte) {
	switch {
	case h.KeepAlive == nil:
	case len(h.Received)+len(sent) > maxReceived:
		h.KeepAlive, h.Received = nil, nil
	default:
		h.Received = append(h.Received, sent...)
	}
}
