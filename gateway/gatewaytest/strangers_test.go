package gatewaytest_test

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"revtail/gateway/gatewaytest"
	"revtail/gateway/gatewaytest/rawhttp"
)

// attack is what a stranger sends. It gets no more than it needs to fill memory.
type attack struct {
	name        string
	protocol    string // plain, http/1.1 or h2; handshake: below TLS
	connections int
	sent        []byte
	most        int // bytes that the gateway may grow by
}

// attacks are the ways to fill memory without a credential. What each of them may take is less than half of what it takes without a bound.
// Those that fill all that strangers may fill together take more than that, because Go collects garbage when the memory has doubled.
func attacks(t *testing.T) []attack {
	t.Helper()
	// ClientHello (RFC 8446, section 4.1.2) in records of 16 KiB, of which the last one is missing
	hello := []byte{1, 0, 0xff, 0xff}
	var records []byte
	for len(hello) < 48<<10 {
		hello = append(hello, make([]byte, 1<<10)...)
	}
	for ; len(hello) >= 16<<10; hello = hello[16<<10:] {
		records = append(append(records, 22, 3, 1, 0x40, 0), hello[:16<<10]...)
	}
	long := []byte("GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: " + strings.Repeat("x", 60<<10))
	return []attack{
		{"fields", "plain", 400, fields(60 << 10), 120 << 20},
		{"fields over TLS", "http/1.1", 400, fields(60 << 10), 150 << 20},
		{"long fields", "plain", 6000, long, 320 << 20},
		{"handshakes", "handshake", 6000, records, 320 << 20},
		{"frames", "h2", 250, append(preface(t, 1<<20), frame(0, 1<<20-1)...), 120 << 20},
		{"requests", "h2", 25, append(preface(t, 0), requests(t, 250)...), 120 << 20},
		{"bodies", "h2", 400, append(preface(t, 0), body(t, 900<<10)...), 120 << 20},
	}
}

// fields returns the beginning of a request with very short fields.
func fields(size int) []byte {
	var out bytes.Buffer
	out.WriteString("GET / HTTP/1.1\r\nHost: localhost\r\n")
	for i := 0; out.Len() < size; i++ {
		out.WriteString(strconv.FormatInt(int64(i), 36) + ":\n")
	}
	return out.Bytes()
}

// preface returns the preface of HTTP/2, for streams with a window.
func preface(t *testing.T, window uint32) []byte {
	t.Helper()
	out := bytes.NewBufferString(http2.ClientPreface)
	if err := http2.NewFramer(out, nil).WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// frame returns a frame of an unknown type, without its last byte.
func frame(stream uint32, size int) []byte {
	head := binary.BigEndian.AppendUint32([]byte{byte(size >> 16), byte(size >> 8), byte(size), 0xff, 0}, stream)
	return append(head, bytes.Repeat([]byte("x"), size-1)...)
}

// requests returns n requests with 60 KiB of cookies each, which are 16 bytes in the encoding of HTTP/2.
func requests(t *testing.T, n int) []byte {
	t.Helper()
	var out, head bytes.Buffer
	framer, encoder := http2.NewFramer(&out, nil), hpack.NewEncoder(&head)
	for i := range n {
		head.Reset()
		for _, field := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "localhost"}, {":path", "/ui/"}} {
			_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}) // into memory
		}
		for range 16 {
			_ = encoder.WriteField(hpack.HeaderField{Name: "cookie", Value: strings.Repeat("x", 3800)})
		}
		err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: head.Bytes(), EndStream: true, EndHeaders: true})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// body returns a request with a body that does not end.
func body(t *testing.T, size int) []byte {
	t.Helper()
	var out, head bytes.Buffer
	framer, encoder := http2.NewFramer(&out, nil), hpack.NewEncoder(&head)
	for _, field := range [][2]string{{":method", "POST"}, {":scheme", "https"}, {":authority", "localhost"}, {":path", "/ui/"}, {"content-length", "3000000"}} {
		_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}) // into memory
	}
	err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head.Bytes(), EndHeaders: true})
	for ; err == nil && size > 0; size -= 16 << 10 {
		err = framer.WriteData(1, false, make([]byte, 16<<10))
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// launch opens the connections and sends. The writes may fail, because the server may cut connections, or wait, because it may not read.
func (a attack) launch(t *testing.T, g *guarded) {
	t.Helper()
	var sending sync.WaitGroup
	limit := make(chan struct{}, 16)
	for range a.connections {
		limit <- struct{}{}
		sending.Go(func() {
			defer func() { <-limit }()
			conn := a.dial(t, g)
			if conn == nil {
				return
			}
			_ = conn.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
			_, _ = conn.Write(a.sent)
		})
	}
	sending.Wait()
}

// dial opens a connection until the end of the test; nil: it was refused.
func (a attack) dial(t *testing.T, g *guarded) net.Conn {
	t.Helper()
	address := g.URL[strings.Index(g.URL, "//")+2:]
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		return nil
	}
	t.Cleanup(func() { _ = conn.Close() })
	if a.protocol == "plain" || a.protocol == "handshake" {
		return conn
	}
	config := g.TLS.Clone()
	config.NextProtos, config.ServerName = []string{a.protocol}, "localhost"
	secure := tls.Client(conn, config)
	if secure.HandshakeContext(t.Context()) != nil {
		return nil
	}
	return secure
}

// resident returns the memory of the gateway in bytes. It asks on a connection of its own, so that it waits like a new client.
func (g *guarded) resident(t *testing.T) int {
	t.Helper()
	size, err := strconv.ParseFloat(g.user("root").Do(t, http.MethodGet, "/metrics", "").Metric("process_resident_memory_bytes"), 64)
	if err != nil {
		t.Skip("no metric of the memory on this platform")
	}
	return int(size)
}

var attacking = flag.Bool("attack", false, "run the attacks of strangers, which take a minute")

// TestStrangersFillNoMemory checks the bounds in SECURITY.md, "Memory before authentication": whatever clients without a credential send,
// the gateway grows by little, and serves others.
func TestStrangersFillNoMemory(t *testing.T) {
	if !*attacking {
		t.Skip("`make abuse` runs the attacks of strangers")
	}
	for _, a := range attacks(t) {
		t.Run(a.name, func(t *testing.T) {
			g := startGuarded(t, a.protocol != "plain", []string{"root"}, bind("root", "cluster-admin"))
			before := g.resident(t)
			a.launch(t, g)
			after := g.resident(t)
			t.Logf("%d connections: %d MB, %s are open, %s were cut", a.connections, (after-before)>>20,
				g.user("root").Do(t, http.MethodGet, "/metrics", "").Metric("revtail_unauthenticated_connections"),
				g.user("root").Do(t, http.MethodGet, "/metrics", "").Metric("revtail_unauthenticated_connections_cut_total"))
			if after-before > a.most {
				t.Errorf("the memory grew by %d bytes; want less than %d", after-before, a.most)
			}
		})
	}
}

// TestKeyUpdatesOfStrangers checks that a client that updates its TLS keys again and again, and reads no answer, is disconnected.
func TestKeyUpdatesOfStrangers(t *testing.T) {
	if !*attacking {
		t.Skip("`make abuse` runs the attacks of strangers")
	}
	t.Parallel()
	g := startGuarded(t, true, []string{"root"}, bind("root", "cluster-admin"))
	conn := attack{protocol: "handshake"}.dial(t, g)
	if conn == nil {
		t.Fatal("no connection")
	}
	if err := errors.Join(conn.SetDeadline(time.Now().Add(gatewaytest.Patience)), conn.(*net.TCPConn).SetReadBuffer(16<<10)); err != nil {
		t.Fatal(err)
	}
	config := g.TLS.Clone()
	config.NextProtos, config.ServerName = []string{"h2"}, "localhost"
	w := rawhttp.HandshakeTLS(t, conn, config)
	if _, err := w.Write(preface(t, 1<<20)); err != nil {
		t.Fatal(err)
	}
	grant := []byte{0, 0, 4, byte(http2.FrameWindowUpdate), 0, 0, 0, 0, 0, 0, 0, 0, 1}
	if sent, err := io.CopyN(conn, w.KeyUpdates(grant), 64<<20); err == nil {
		t.Errorf("%d bytes of updates were accepted", sent)
	}
}

// TestTwoLengths checks that a request with a Content-Length and a Transfer-Encoding is refused, and that its connection is closed, because what
// follows may be a request that a proxy has not seen (RFC 9112, section 6.3).
func TestTwoLengths(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		g := startGuarded(t, secure, []string{"root"}, bind("root", "cluster-admin"))
		head := func(method, path string, more ...string) string {
			return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer token-of-root\r\n%s\r\n", method, path, strings.Join(append(more, ""), "\r\n"))
		}
		object := `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"hidden"}}`
		hidden := head("POST", configMaps, "Content-Type: application/json", fmt.Sprint("Content-Length: ", len(object))) + object
		both := []string{"Content-Type: application/json", "Content-Length: 5", "Transfer-Encoding: chunked"}
		turned := []string{"transfer-encoding: chunked", "content-length:" + strings.Repeat(" ", 20) + "5"}
		first := head("GET", "/version")
		for name, tt := range map[string]struct {
			sent  string
			codes []int
		}{
			"alone":              {head("POST", configMaps, both...) + "0\r\n\r\n" + hidden, []int{400}},
			"in the other order": {head("POST", configMaps, turned...) + "0\r\n\r\n" + hidden, []int{400}},
			"after a GET":        {first + head("POST", configMaps, both...) + "0\r\n\r\n" + hidden, []int{200, 400}},
			"after a body":       {strings.ReplaceAll(hidden, "hidden", "before") + head("POST", configMaps, both...) + "0\r\n\r\n" + hidden, []int{201, 400}},
			"of HTTP/1.0":        {strings.Replace(head("GET", "/version", "Connection: keep-alive", "Transfer-Encoding: chunked"), "1.1", "1.0", 1) + hidden, []int{400}},
			"chunks alone":       {head("POST", configMaps, both[0], both[2]) + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(object), strings.Replace(object, "hidden", "chunks", 1)) + hidden, []int{201}},
		} {
			if codes := g.converse(t, tt.sent); fmt.Sprint(codes) != fmt.Sprint(tt.codes) {
				t.Errorf("%s, TLS %v: %v; want %v, and then the end", name, secure, codes, tt.codes)
			}
			g.user("root").Do(t, http.MethodDelete, configMaps+"/before", "")
			g.user("root").Do(t, http.MethodDelete, configMaps+"/chunks", "")
		}
		if answer := g.user("root").Do(t, http.MethodGet, configMaps+"/hidden", ""); answer.Code != 404 {
			t.Errorf("the hidden request was carried out: %d", answer.Code)
		}
	}
}

// converse sends requests on one connection, and returns the codes of the answers, up to the end of the connection.
func (g *guarded) converse(t *testing.T, sent string) (codes []int) {
	t.Helper()
	a := attack{protocol: "plain"}
	if g.TLS != nil {
		a.protocol = "http/1.1"
	}
	conn := a.dial(t, g)
	if conn == nil {
		t.Fatal("no connection")
	}
	if err := conn.SetDeadline(time.Now().Add(gatewaytest.Patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, sent); err != nil {
		t.Fatal(err)
	}
	answers, err := io.ReadAll(conn)
	if err != nil {
		t.Errorf("the connection has not ended: %v", err)
	}
	for line := range strings.Lines(string(answers)) {
		if code, ok := strings.CutPrefix(line, "HTTP/1.1 "); ok {
			n, _ := strconv.Atoi(code[:3]) // zero is no code
			codes = append(codes, n)
		}
	}
	return codes
}
