package rawhttp

import (
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// DialWebSocket opens a WebSocket that is closed when the test ends.
func DialWebSocket(tb testing.TB, url string, options *websocket.DialOptions) *websocket.Conn {
	tb.Helper()
	socket, _, err := websocket.Dial(tb.Context(), "ws"+strings.TrimPrefix(url, "http"), options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = socket.CloseNow() })
	return socket
}

// ReadMessage reads a text message.
func ReadMessage(tb testing.TB, socket *websocket.Conn) string {
	tb.Helper()
	kind, message, err := socket.Read(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	if kind != websocket.MessageText {
		tb.Errorf("a message of type %v", kind)
	}
	return string(message)
}
