package gatewaytest_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

const (
	shortWatch = configMaps + "?watch=1&timeoutSeconds=1"
	shortList  = configMaps + "?limit=1"
)

// keptGateway is a gateway with a way to connect to it.
type keptGateway struct {
	*gatewaytest.Gateway
	dial func(ctx context.Context) (net.Conn, error)
}

// overHTTP1 runs a test over plain HTTP, over TLS and through a unix socket.
func overHTTP1(t *testing.T, test func(t *testing.T, gw keptGateway)) {
	t.Parallel()
	dialer := new(net.Dialer)
	t.Run("plain", func(t *testing.T) {
		t.Parallel()
		gw := gatewaytest.Start(t)
		test(t, keptGateway{gw, func(ctx context.Context) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", strings.TrimPrefix(gw.URL, "http://"))
		}})
	})
	t.Run("TLS", func(t *testing.T) {
		t.Parallel()
		authority := gatewaytest.NewAuthority(t, "server")
		cert, key := authority.Issue(t, "localhost").Write(t, t.TempDir(), "tls")
		gw := gatewaytest.Start(t, "--tls-cert-file", cert, "--tls-private-key-file", key)
		gw.TLS = &tls.Config{RootCAs: authority.Pool()}
		secure := &tls.Dialer{Config: &tls.Config{RootCAs: authority.Pool(), NextProtos: []string{"http/1.1"}}}
		test(t, keptGateway{gw, func(ctx context.Context) (net.Conn, error) {
			return secure.DialContext(ctx, "tcp", strings.TrimPrefix(gw.URL, "https://"))
		}})
	})
	if runtime.GOOS == "windows" {
		return
	}
	t.Run("unix socket", func(t *testing.T) {
		t.Parallel()
		socket := filepath.Join(t.TempDir(), "s")
		gw := gatewaytest.Start(t, "--listen", "unix://"+socket)
		test(t, keptGateway{gw, func(ctx context.Context) (net.Conn, error) { return dialer.DialContext(ctx, "unix", socket) }})
	})
}

// connect opens a connection.
func (gw keptGateway) connect(t *testing.T) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := gw.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(gatewaytest.Patience)); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

func sendRequests(t *testing.T, conn net.Conn, paths ...string) {
	t.Helper()
	var text strings.Builder
	for _, path := range paths {
		text.WriteString("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n")
	}
	if _, err := io.WriteString(conn, text.String()); err != nil {
		t.Fatal(err)
	}
}

// wantResponse reads a response whose connection stays open, and returns its body.
func wantResponse(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || resp.Close {
		t.Fatalf("%s, close: %v, %v: %.300s", resp.Status, resp.Close, err, body)
	}
	return string(body)
}

// TestConnectionAfterWatch checks that the next request on the connection of a watch that has ended is served: one that is sent afterwards, during the
// watch, and together with its request; also by many watches one after the other.
func TestConnectionAfterWatch(t *testing.T) {
	overHTTP1(t, func(t *testing.T, gw keptGateway) {
		gw.Create(t, configMaps, gatewaytest.ConfigMap("a", ""))
		conn, r := gw.connect(t)
		for range 2 {
			sendRequests(t, conn, shortWatch)
			if events := wantResponse(t, r); !strings.Contains(events, `"name":"a"`) {
				t.Errorf("a watch without its initial event: %s", events)
			}
			sendRequests(t, conn, shortWatch, shortList, shortWatch)
			wantResponse(t, r)
			if list := wantResponse(t, r); !strings.HasPrefix(list, `{"kind":"ConfigMapList"`) {
				t.Errorf("the list is %.100s", list)
			}
			if events := wantResponse(t, r); !strings.HasPrefix(events, `{"type":"ADDED"`) {
				t.Errorf("the watch is %.100s", events)
			}
		}
		sendRequests(t, conn, configMaps+"?watch=1&timeoutSeconds=2")
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		sendRequests(t, conn, shortList) // an event loop has adopted the watch by now, or is about to
		gw.Create(t, configMaps, gatewaytest.ConfigMap("b", ""))
		events, err := io.ReadAll(resp.Body)
		if err != nil || !strings.Contains(string(events), `"name":"b"`) {
			t.Errorf("%v: events %s", err, events)
		}
		if list := wantResponse(t, r); !strings.HasPrefix(list, `{"kind":"ConfigMapList"`) {
			t.Errorf("the list is %.100s", list)
		}
	})
}

// TestGarbageAfterWatch checks that a client that sends no request is refused, that one that sends much during the watch loses its connection, and that a
// client may ask for the end of the connection.
func TestGarbageAfterWatch(t *testing.T) {
	overHTTP1(t, func(t *testing.T, gw keptGateway) {
		conn, r := gw.connect(t)
		sendRequests(t, conn, shortWatch)
		if _, err := io.WriteString(conn, "garbage\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		wantResponse(t, r)
		if rest, err := io.ReadAll(r); err != nil || !strings.HasPrefix(string(rest), "HTTP/1.1 400 Bad Request") {
			t.Errorf("garbage is answered with %q, %v", rest, err)
		}

		conn, r = gw.connect(t)
		sendRequests(t, conn, shortWatch)
		if _, err := io.WriteString(conn, strings.Repeat("x", 20<<10)); err != nil {
			t.Fatal(err)
		}
		wantResponse(t, r)
		if rest, _ := io.ReadAll(r); len(rest) > 0 { // the unread bytes may reset the connection
			t.Errorf("20 KiB are answered with %q", rest)
		}

		conn, r = gw.connect(t)
		if _, err := io.WriteString(conn, "GET "+shortWatch+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil || !resp.Close {
			t.Fatalf("%v, close: %v", err, resp.Close)
		}
		if _, err := io.ReadAll(resp.Body); err != nil {
			t.Error(err)
		}
		if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
			t.Errorf("after the end: %q, %v", rest, err)
		}
	})
}

// TestClientAfterWatch checks that net/http's client, as that of client-go, uses the connection of a watch again, and that the gateway ends at once while
// such a connection is idle.
func TestClientAfterWatch(t *testing.T) {
	overHTTP1(t, func(t *testing.T, gw keptGateway) {
		client := &http.Client{Transport: &http.Transport{
			DialContext:    func(ctx context.Context, _, _ string) (net.Conn, error) { return gw.dial(ctx) },
			DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return gw.dial(ctx) },
		}}
		reused := 0
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
			if info.Reused {
				reused++
			}
		}})
		paths := []string{shortWatch, shortList, shortWatch, shortWatch}
		for _, path := range paths {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, gw.URL+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
		}
		if want := len(paths) - 1; reused != want {
			t.Errorf("the connection was used again %d times, want %d", reused, want)
		}
		if code := gw.Stop(t); code != 0 {
			t.Errorf("the gateway ended with %d", code)
		}
		client.CloseIdleConnections()
	})
}
