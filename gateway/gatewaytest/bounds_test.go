package gatewaytest_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"revtail/gateway/gatewaytest"
)

// TestBounds checks that requests above the limits are refused as client errors, and that nothing is written.
func TestBounds(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	etcd := gatewaytest.DialEtcd(t, gw.EtcdEndpoint)
	writes := etcd.Writes(t)
	with := func(data string) string {
		return `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":` + data + `}`
	}
	nested := func(depth int) string { return strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth) }
	many := make([]string, 33)
	for i := range many {
		many[i] = fmt.Sprintf("l%d%%3Dx", i)
	}
	for _, tt := range []struct {
		name, method, path, body string
		header                   []string
		code                     int
	}{
		{"header of 56 KiB", "GET", configMaps, "", []string{"X-Large: " + strings.Repeat("x", 56<<10)}, 200},
		{"header of more than 64 KiB", "GET", configMaps, "", []string{"X-Large: " + strings.Repeat("x", 64<<10+1)}, 431},
		{"too many headers", "GET", configMaps, "", []string{strings.Repeat("X-Many: x\r\n", 300) + "X-Last: x"}, 431},
		{"many headers", "GET", configMaps, "", []string{strings.Repeat("X-Many: x\r\n", 20_000) + "X-Last: x"}, 431},
		{"query", "GET", configMaps + "?a=" + strings.Repeat("x", 33<<10), "", nil, 400},
		{"segment", "GET", configMaps + "/" + strings.Repeat("x", 1025), "", nil, 400},
		{"depth", "POST", configMaps, with(nested(64)), nil, 400},
		{"much depth", "POST", configMaps, with(nested(200_000)), nil, 400},
		{"tokens", "POST", configMaps, with("[" + strings.Repeat("[],", 500_000) + "1]"), nil, 400},
		{"names twice", "POST", configMaps + "?fieldValidation=Strict", with(`{"a":"b","a":"c"}`), nil, 400},
		{"no UTF-8", "POST", configMaps, with("{\"a\":\"\xff\"}"), nil, 400},
		{"number", "POST", configMaps, with(`{"a":1e400}`), nil, 400},
		{"compressed", "POST", configMaps, "\x1f\x8b\x08", []string{"Content-Encoding: gzip"}, 415},
		{"labels selected", "GET", configMaps + "?labelSelector=" + strings.Join(many, ","), "", nil, 400},
		{"fields selected", "GET", configMaps + "?fieldSelector=" + strings.Join(many, ","), "", nil, 400},
		{"body of a watch", "GET", configMaps + "?watch=1", strings.Repeat("x", 65<<10), nil, 413},
		{"both lengths", "POST", configMaps, "0\r\n\r\n", []string{"Transfer-Encoding: chunked"}, 400},
	} {
		resp, answer := ask(t, gw, tt.method, tt.path, tt.body, tt.header...)
		if resp.StatusCode != tt.code || len(answer) > 4<<10 {
			t.Errorf("%s: %.300s; want %d", tt.name, answer, tt.code)
		}
	}
	if now := etcd.Writes(t); now != writes {
		t.Errorf("something was written: %v", etcd.All(t))
	}
}

// TestSlowBodies checks that a body that does not arrive ends the connection, whether a handler reads it, no handler does, or the client is
// not allowed to send it.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	g := startGuarded(t, false, []string{"root"}, bind("root", "cluster-admin"))
	for name, request := range map[string]string{
		"write":          "POST " + configMaps + " HTTP/1.1\r\nAuthorization: Bearer token-of-root",
		"read":           "GET " + configMaps + " HTTP/1.1\r\nAuthorization: Bearer token-of-root",
		"watch":          "GET " + configMaps + "?watch=1 HTTP/1.1\r\nAuthorization: Bearer token-of-root",
		"nowhere":        "POST /nowhere HTTP/1.1\r\nAuthorization: Bearer token-of-root",
		"without rights": "POST " + configMaps + " HTTP/1.1",
		"health":         "GET /livez HTTP/1.1",
		"in the header":  "POST " + configMaps + " HTTP/1.1\r\nX-Slow",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(g.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if name != "in the header" {
				request += "\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf of it"
			}
			if _, err = io.WriteString(conn, request); err != nil {
				t.Fatal(err)
			}
			if err = conn.SetReadDeadline(time.Now().Add(gatewaytest.Patience)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the connection is still open after %v", gatewaytest.Patience)
			}
		})
	}
}

// TestRefusedHTTP2ConnectionIsClosed checks that a client without valid credentials cannot send further requests on its HTTP/2 connection.
func TestRefusedHTTP2ConnectionIsClosed(t *testing.T) {
	t.Parallel()
	g := startGuarded(t, true, []string{"root"}, bind("root", "cluster-admin"))
	client := &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: g.TLS}}
	defer client.CloseIdleConnections()
	get := func(token string) (code int, reused bool) {
		trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { reused = info.Reused }}
		req, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodGet, g.URL+"/version", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil || resp.ProtoMajor != 2 {
			t.Fatalf("%s %v", resp.Proto, err)
		}
		return resp.StatusCode, reused
	}
	get("token-of-root")
	if code, reused := get("token-of-root"); code != 200 || !reused {
		t.Errorf("a known user: %d, on the same connection %v", code, reused)
	}
	if code, _ := get("wrong"); code != 401 {
		t.Errorf("an unknown user: %d", code)
	}
	if code, reused := get("token-of-root"); code != 200 || reused {
		t.Errorf("after an unknown user: %d, on the same connection %v", code, reused)
	}
}

// TestRapidReset checks that a client that opens streams and resets them at once does not delay others, and leaves no goroutines. The
// connection may end when handlers are too slow.
func TestRapidReset(t *testing.T) {
	t.Parallel()
	s := startSecured(t)
	config := s.TLS.Clone()
	config.NextProtos = []string{"h2"}
	conn, err := (&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", s.address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err = conn.SetDeadline(time.Now().Add(gatewaytest.Patience)); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, conn) }()
	framer := http2.NewFramer(conn, nil)
	var head bytes.Buffer
	encoder := hpack.NewEncoder(&head)
	if _, err = io.WriteString(conn, http2.ClientPreface); err == nil {
		err = framer.WriteSettings()
	}
	const most = 20_000
	sent := 0
	for ; err == nil && sent < most; sent++ {
		head.Reset()
		for _, field := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "localhost"}, {":path", configMaps + "?watch=1"}} {
			_ = encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}) // into memory
		}
		id := uint32(2*sent + 1)
		err = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: head.Bytes(), EndStream: true, EndHeaders: true})
		if err == nil {
			err = framer.WriteRSTStream(id, http2.ErrCodeCancel)
		}
		if sent%1000 == 0 {
			if answer := s.Do(t, http.MethodGet, "/livez", ""); answer.Code != 200 {
				t.Fatalf("meanwhile /livez answers %d", answer.Code)
			}
		}
	}
	if sent < 1000 || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d streams were opened and reset: %v", sent, err)
	}
	gatewaytest.Until(t, "the watches to end", func() bool { return s.metric(t, `revtail_watchers{resource="configmaps"}`) == "0" })
}
