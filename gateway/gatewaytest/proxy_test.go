package gatewaytest_test

import (
	"bufio"
	"compress/gzip"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"revtail/gateway/gatewaytest"
)

// TestProxies checks that with each configuration of deploy, events arrive one by one, in any form, and that the end of one of two gateways
// is a clean end of its watches, after which all requests go to the other.
func TestProxies(t *testing.T) {
	t.Parallel()
	first := gatewaytest.Start(t)
	for _, file := range []string{"nginx.conf", "haproxy.cfg", "Caddyfile"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			second := gatewaytest.Start(t, "--etcd-endpoints", first.EtcdEndpoint)
			front := gatewaytest.StartProxy(t, file, first, second)
			name, _, _ := strings.Cut(strings.ToLower(file), ".")
			wantStreams(t, front, "/api/v1/namespaces/"+name+"/configmaps")
			wantWebSocket(t, front, "/api/v1/namespaces/socket-"+name+"/configmaps")
			wantDrain(t, front, second, "/api/v1/namespaces/drain-"+name+"/configmaps")
		})
	}
}

// TestProxyHTTP2 checks the same with an nginx that serves HTTPS, and HTTP/2.
func TestProxyHTTP2(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	authority := gatewaytest.NewAuthority(t, "authority")
	pair := authority.Issue(t, "proxy")
	front := gatewaytest.StartProxy(t, "nginx.conf", gw, gw, "listen 8080;", fmt.Sprintf("listen 8080 ssl http2; ssl_certificate %s; ssl_certificate_key %s;",
		secretFile(t, string(pair.Cert)), secretFile(t, string(pair.Key))))
	front.URL, front.TLS = "https"+strings.TrimPrefix(front.URL, "http"), &tls.Config{RootCAs: authority.Pool()}
	wantStreams(t, front, "/api/v1/namespaces/http2/configmaps")
}

// openStream opens a watch and returns its text as it arrives. It is closed with the test.
func openStream(t *testing.T, front *gatewaytest.Gateway, path, header, value string) *bufio.Reader {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: front.TLS.Clone(), ForceAttemptHTTP2: true, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, front.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(header, value)
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK || front.TLS != nil && resp.ProtoMajor != 2 {
		t.Fatalf("%s: %s %s", path, resp.Proto, resp.Status)
	}
	if resp.Header.Get("Content-Encoding") != "gzip" {
		return bufio.NewReader(resp.Body)
	}
	plain, err := gzip.NewReader(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return bufio.NewReader(plain)
}

// wantStreams checks that each event arrives before the next one happens.
func wantStreams(t *testing.T, front *gatewaytest.Gateway, collection string) {
	t.Helper()
	gatewaytest.Until(t, "a gateway behind the proxy", func() bool { return front.Do(t, http.MethodGet, "/readyz", "").Code == http.StatusOK })
	front.Create(t, collection, gatewaytest.ConfigMap("first", ""))
	for header, value := range map[string]string{"Accept": "text/event-stream", "Accept-Encoding": "gzip", "User-Agent": "curl"} {
		lines := openStream(t, front, collection+"?watch=1", header, value)
		for i := range 3 {
			name := "first"
			if i > 0 {
				name = fmt.Sprintf("%s-%d", strings.ToLower(header), i)
				front.Create(t, collection, gatewaytest.ConfigMap(name, ""))
			}
			waitFor(t, lines, fmt.Sprintf("%q", name))
		}
	}
}

// waitFor reads lines until one has a text.
func waitFor(t *testing.T, lines *bufio.Reader, text string) {
	t.Helper()
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("waiting for %s: %v", text, err)
		}
		if strings.Contains(line, text) {
			return
		}
	}
}

// wantWebSocket checks that a message is an event.
func wantWebSocket(t *testing.T, front *gatewaytest.Gateway, collection string) {
	t.Helper()
	socket, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(front.URL, "http")+collection+"?watch=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.CloseNow() }()
	for i := range 3 {
		name := fmt.Sprintf("message-%d", i)
		front.Create(t, collection, gatewaytest.ConfigMap(name, ""))
		if _, message, err := socket.Read(t.Context()); err != nil || !strings.Contains(string(message), name) {
			t.Fatalf("message %q, %v; want one of %s", message, err, name)
		}
	}
}

// wantDrain ends one of two gateways: its watches end cleanly, those of the other continue, and no request fails.
func wantDrain(t *testing.T, front, second *gatewaytest.Gateway, collection string) {
	t.Helper()
	const watches = 6
	ends := make(chan error, watches) // nil: the watch has the last event
	for range watches {
		lines := openStream(t, front, collection+"?watch=1", "User-Agent", "curl")
		go func() {
			for {
				line, err := lines.ReadString('\n')
				if err != nil || strings.Contains(line, `"after"`) {
					ends <- err
					return
				}
			}
		}()
	}
	if code := second.Stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for i := range 20 {
		if answer := front.Do(t, http.MethodGet, collection, ""); answer.Code != http.StatusOK {
			t.Errorf("request %d after the end of a gateway: %d %s", i, answer.Code, answer.Body)
		}
	}
	front.Create(t, collection, gatewaytest.ConfigMap("after", ""))
	var ended int
	for range watches {
		switch err := <-ends; {
		case errors.Is(err, io.EOF):
			ended++
		case err != nil:
			t.Errorf("a watch ends with %v, want a clean end", err)
		}
	}
	if ended == 0 || ended == watches {
		t.Errorf("%d of %d watches were on the ended gateway", ended, watches)
	}
	waitFor(t, openStream(t, front, collection+"?watch=1", "User-Agent", "curl"), `"after"`)
}
