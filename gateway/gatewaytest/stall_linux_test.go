package gatewaytest_test

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"revtail/gateway/gatewaytest"
)

// TestSystemBuffersLittleOverHTTP2 checks that the system buffers little for a client that allows the largest windows of HTTP/2 and does
// not read.
func TestSystemBuffersLittleOverHTTP2(t *testing.T) {
	t.Parallel()
	const most = 512 << 10
	s := startSecured(t)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.address())
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).SetReadBuffer(16 << 10); err != nil {
		t.Fatal(err)
	}
	config := s.TLS.Clone()
	config.NextProtos = []string{"h2"}
	config.ServerName = "127.0.0.1"
	openWatch(t, tls.Client(conn, config))
	gatewaytest.Until(t, "the watch to open", func() bool { return s.metric(t, `revtail_watchers{resource="configmaps"}`) == "1" })

	large := strings.Repeat("x", 200<<10)
	for i := range 40 {
		s.Do(t, http.MethodPost, configMaps, gatewaytest.ConfigMap(fmt.Sprint("large", i), large))
	}
	gatewaytest.Until(t, "the client to be late", func() bool { return unsent(t, conn) > 16<<10 })
	for range 10 { // further data may arrive later
		s.Do(t, http.MethodGet, "/livez", "")
		if held := unsent(t, conn); held > most {
			t.Fatalf("the system buffers %d KiB for a client that does not read", held>>10)
		}
	}
}

// openWatch requests a watch as the only stream, with unlimited windows.
func openWatch(t *testing.T, conn net.Conn) {
	t.Helper()
	t.Cleanup(func() { _ = conn.Close() })
	var head bytes.Buffer
	encoder := hpack.NewEncoder(&head)
	for _, field := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "localhost"}, {":path", configMaps + "?watch=1"}} {
		_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}) // into memory
	}
	framer := http2.NewFramer(conn, nil)
	_, err := io.WriteString(conn, http2.ClientPreface)
	if err == nil {
		err = framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1})
	}
	if err == nil {
		err = framer.WriteWindowUpdate(0, 1<<30)
	}
	if err == nil {
		err = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head.Bytes(), EndStream: true, EndHeaders: true})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// unsent returns the number of bytes that the system of the other end buffers for a connection on this machine: not sent, or not
// acknowledged.
func unsent(t *testing.T, conn net.Conn) int64 {
	t.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	port := func(a net.Addr) string { return fmt.Sprintf(":%04X", a.(*net.TCPAddr).Port) }
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line) // number, local, remote, state, tx_queue:rx_queue
		if len(fields) > 4 && strings.HasSuffix(fields[1], port(conn.RemoteAddr())) && strings.HasSuffix(fields[2], port(conn.LocalAddr())) {
			queue, _, _ := strings.Cut(fields[4], ":")
			n, err := strconv.ParseInt(queue, 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no connection of %v in /proc/net/tcp", conn.LocalAddr())
	return 0
}
