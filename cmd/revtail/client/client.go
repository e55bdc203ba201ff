package client

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// Client sends requests to gateways. It is safe for concurrent use.
type Client struct {
	servers   []*server
	current   atomic.Uint64 // index of the server that gets the next request, modulo their number
	tokenFile string
	flag      string // of the servers
	namespace string
	inProcess bool // the gateway is in this process
}

// New makes a client. It sends no request yet. Errors name the flag to change.
func New(c Config) (*Client, error) {
	s, err := c.settings()
	if err != nil {
		return nil, err
	}
	out := &Client{tokenFile: c.TokenFile, flag: s.flag, namespace: s.namespace, inProcess: c.Dial != nil}
	secrets := c.TokenFile != "" || s.rest.BearerToken+s.rest.Password != "" || s.rest.ExecProvider != nil
	loopback := true
	for _, text := range s.servers {
		to, err := parseServer(text)
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", out.flag, text, err)
		}
		if secrets && to.url.Scheme == "http" && !to.local() {
			return nil, fmt.Errorf("%s %s: the credentials would cross the network without encryption: use https://", out.flag, text)
		}
		loopback, to.dial = loopback && to.local(), c.Dial
		out.servers = append(out.servers, to)
	}
	if len(out.servers) == 0 {
		return nil, fmt.Errorf("%s: %w", out.flag, errNoServer)
	}
	// Only local processes can listen on loopback, so an unverified certificate is accepted there, but never with a token.
	return out, out.connect(s, loopback && !s.explicit, c.NoProxy)
}

// connect makes the http.Client of each server. unverified accepts any certificate.
func (c *Client) connect(s settings, unverified, noProxy bool) error {
	tlsConfig, err := rest.TLSConfigFor(&s.rest)
	if err != nil {
		return fmt.Errorf("%s: %w", c.flag, err)
	}
	if tlsConfig == nil {
		tlsConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	tlsConfig.InsecureSkipVerify = tlsConfig.InsecureSkipVerify || unverified
	transport := &http.Transport{TLSClientConfig: tlsConfig, TLSHandshakeTimeout: headerTimeout, ResponseHeaderTimeout: 2 * headerTimeout, Proxy: s.rest.Proxy}
	if transport.Proxy == nil && !noProxy {
		transport.Proxy = http.ProxyFromEnvironment
	}
	for _, to := range c.servers {
		authenticated, err := rest.HTTPWrappersForConfig(&s.rest, to.transport(transport))
		if err != nil {
			return fmt.Errorf("%s: %w", c.flag, err)
		}
		to.http = &http.Client{Transport: authenticated}
	}
	return nil
}

// headerTimeout bounds a TLS handshake; response headers get twice that.
const headerTimeout = 15 * time.Second

// Namespace is that of --namespace, else that of the context, else default.
func (c *Client) Namespace() string { return c.namespace }

// Close closes idle connections.
func (c *Client) Close() {
	for _, s := range c.servers {
		s.http.CloseIdleConnections()
	}
}

// requestTimeout bounds a request that is no watch.
const requestTimeout = time.Minute

// get decodes the body of a JSON response.
func (c *Client) get(ctx context.Context, path string, query url.Values, accept string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	resp, err := c.Do(ctx, Request{Path: path, Query: query, Header: http.Header{"Accept": {accept}}})
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Page is a text response.
type Page struct {
	Text   string
	Date   string // the Date header
	Server string // the Server and Via headers; empty for a gateway without a proxy in front
}

// Page reads a text response of the gateway.
func (c *Client) Page(ctx context.Context, path string) (Page, error) {
	ctx, cancel := context.WithTimeout(ctx, headerTimeout)
	defer cancel()
	path, query, _ := strings.Cut(path, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return Page{}, err
	}
	resp, err := c.open(ctx, Request{Path: path, Query: values})
	if err != nil {
		return Page{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return Page{string(text), resp.Header.Get("Date"), resp.Header.Get("Server") + resp.Header.Get("Via")}, err
}
