package http2

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	h2 "golang.org/x/net/http2"

	"revtail/gateway/gatewaytest/rawhttp"
)

// TestKeyUpdatesAreAnswered checks that a client that reads may update its keys as often as it likes, and that one that does not read is
// disconnected: TLS answers each update, and the answers must not fill the memory.
func TestKeyUpdatesAreAnswered(t *testing.T) {
	grant := appendFrame(nil, h2.FrameWindowUpdate, 0, 0, []byte{0, 0, 0, 1})
	const most = 64 << 20 // more than what the buffers of both sockets and the bound of the answers hold
	for _, reads := range []bool{true, false} {
		t.Run(map[bool]string{true: "read", false: "not read"}[reads], func(t *testing.T) {
			server := newServer(time.Minute, func(http.ResponseWriter, *http.Request) {})
			defer server.Close()
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			w := rawhttp.HandshakeTLS(t, conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
			var opening bytes.Buffer
			opening.WriteString(h2.ClientPreface)
			if err := h2.NewFramer(&opening, nil).WriteSettings(); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(opening.Bytes()); err != nil {
				t.Fatal(err)
			}
			size := int64(most)
			if reads {
				size = 1 << 20
				go func() { _, _ = io.Copy(io.Discard, conn) }()
			}
			sent, err := io.CopyN(conn, w.KeyUpdates(grant), size)
			if reads == (err != nil) {
				t.Errorf("after %d bytes of updates: %v", sent, err)
			}
		})
	}
}
