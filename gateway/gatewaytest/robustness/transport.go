package robustness

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"maps"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"revtail/gateway/gatewaytest"
)

// secured has what gateways and clients need for HTTPS.
type secured struct {
	cert, key string // files
	clients   *tls.Config
}

// connect makes the clients of HTTP.
func (r *Run) connect(s *Scenario) {
	var config *tls.Config
	if s.Secure > 0 {
		month := func(c *x509.Certificate) { c.NotAfter = time.Now().AddDate(0, 1, 0) }
		authority := gatewaytest.NewAuthority(r.TB, "authority", month)
		config = &tls.Config{RootCAs: authority.Pool()}
		cert, key := authority.Issue(r.TB, "gateway", month).Write(r.TB, r.TempDir(), "gateway")
		r.secured = &secured{cert, key, config}
	}
	r.client, r.http2 = newClient(config.Clone(), false), newClient(config.Clone(), true)
	r.Cleanup(r.http2.CloseIdleConnections)
}

// newClient returns a client that makes a connection for each request or, with HTTP/2, one for each gateway. HTTP/2 needs HTTPS: without it
// connections of HTTP/1.1 are used again.
func newClient(config *tls.Config, http2 bool) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(http2)
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: !http2, DisableCompression: true, TLSClientConfig: config, Protocols: protocols,
		DialContext: (&net.Dialer{Timeout: 3 * time.Second}).DialContext,
	}}
}

// get sends a request to a gateway, and returns the response.
func (r *Run) get(ctx context.Context, client *http.Client, gateway int, path string, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.gateways[gateway].URL+path, nil)
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, header)
	return client.Do(req)
}

// ask sends the request for a watch, in the dialect and the version of HTTP of the client.
func (w *watcher) ask(ctx context.Context, path string, header http.Header) (*http.Response, error) {
	switch {
	case w.Dialect == WebSocket:
		return w.run.dial(ctx, w.gateway, path)
	case w.HTTP2:
		return w.run.get(ctx, w.run.http2, w.gateway, path, header)
	default:
		return w.run.get(ctx, w.run.client, w.gateway, path, header)
	}
}

// dial opens a WebSocket, and returns a response whose body has the messages.
func (r *Run) dial(ctx context.Context, gateway int, path string) (*http.Response, error) {
	url := "ws" + strings.TrimPrefix(r.gateways[gateway].URL, "http") + path
	socket, resp, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: r.client})
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
			return resp, nil // a refusal
		}
		return nil, err
	}
	socket.SetReadLimit(-1)
	return &http.Response{StatusCode: http.StatusOK, Body: websocket.NetConn(ctx, socket, websocket.MessageText)}, nil
}
