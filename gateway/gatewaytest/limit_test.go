package gatewaytest_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

// TestConnectionLimit checks the limit of connections of an address that is not loopback, also after they are closed, and that loopback has
// no limit, because a proxy there connects for all of its clients.
func TestConnectionLimit(t *testing.T) {
	t.Parallel()
	const most = 3
	gw := gatewaytest.Start(t, "--listen", net.JoinHostPort(ownAddress(t), "0"), "--anonymous", "--max-connections-per-address", "3")
	answered := func(url string) net.Conn {
		conn := converse(t, strings.TrimPrefix(url, "http://"))
		if conn == nil {
			t.Fatalf("a connection to %s is not answered", url)
		}
		return conn
	}
	var held []net.Conn
	for range most {
		held = append(held, answered(gw.More[0]))
	}
	if conn := converse(t, strings.TrimPrefix(gw.More[0], "http://")); conn != nil {
		t.Error("a connection above the limit is answered")
	}
	if refused := gw.Do(t, http.MethodGet, "/metrics", "").Metric("revtail_connections_refused_total"); refused != "1" {
		t.Errorf("revtail_connections_refused_total is %q, want 1", refused)
	}
	for range 2 * most {
		answered(gw.URL)
	}
	_ = held[0].Close()
	gatewaytest.Until(t, "room for another connection", func() bool { return converse(t, strings.TrimPrefix(gw.More[0], "http://")) != nil })
}

// TestWatchesOfAnAddress checks that --max-watches-per-user applies to each address when clients of other machines may come without
// credentials, to watches and to long polls.
func TestWatchesOfAnAddress(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t, "--listen", net.JoinHostPort(ownAddress(t), "0"), "--anonymous", "--keys", "*", "--max-watches-per-user", "2")
	others := *gw
	others.URL = gw.More[0]
	first := gw.Watch(t, configMaps+"?watch=1")
	gw.Watch(t, configMaps+"?watch=1")
	for _, path := range []string{configMaps + "?watch=1&timeoutSeconds=1", "/v1/keys/a/?wait=1ms&since=1"} {
		if answer := gw.Do(t, http.MethodGet, path, ""); answer.Code != http.StatusTooManyRequests {
			t.Errorf("%s above the limit: %d %s, want 429", path, answer.Code, answer.Body)
		}
	}
	others.Watch(t, configMaps+"?watch=1")
	first.Close()
	gatewaytest.Until(t, "room for another watch", func() bool {
		return gw.Do(t, http.MethodGet, configMaps+"?watch=1&timeoutSeconds=1", "").Code == http.StatusOK
	})
}

// ownAddress returns an address of this machine that is not loopback. Without any the test is skipped.
func ownAddress(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if network, ok := a.(*net.IPNet); ok && network.IP.IsGlobalUnicast() && network.IP.To4() != nil {
			return network.IP.String()
		}
	}
	t.Skip("this machine has only loopback addresses, which have no limit")
	return ""
}

// converse opens a connection, sends a request, and keeps it open until the end of the test; nil: there was no response.
func converse(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
	if err != nil {
		return nil
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(gatewaytest.Patience)); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: "+address+"\r\n\r\n") // fails if it was reset
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		_ = conn.Close()
		return nil
	}
	_ = resp.Body.Close()
	return conn
}
