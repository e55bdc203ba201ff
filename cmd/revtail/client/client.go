package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// Client sends requests to gateways. It is safe for concurrent use.
type Client struct {
	servers   []*server
	current   atomic.Uint64 // index of the server that gets the next request, modulo their number
	tokenFile string
	flag      string // of the servers
}

// New makes a client. It sends no request yet. Errors name the flag to change.
func New(c Config) (*Client, error) {
	out := &Client{tokenFile: c.TokenFile, flag: cmp.Or(c.ServerFlag, "--server")}
	secrets := c.TokenFile != ""
	loopback := true
	for _, text := range c.Servers {
		s, err := parseServer(text)
		if err != nil {
			return nil, fmt.Errorf("%s %q: %w", out.flag, text, err)
		}
		if secrets && s.url.Scheme == "http" && !s.local() {
			return nil, fmt.Errorf("%s %s: the token of --token-file would cross the network without encryption: use https://", out.flag, text)
		}
		loopback = loopback && s.local()
		out.servers = append(out.servers, s)
	}
	if len(out.servers) == 0 {
		return nil, fmt.Errorf("%s: %w", out.flag, errNoServer)
	}
	tlsConfig, err := c.tls()
	if err != nil {
		return nil, err
	}
	// Only local processes can listen on loopback, so an unverified certificate is accepted there, but never with a token.
	tlsConfig.InsecureSkipVerify = loopback && c.CACert == "" && !secrets
	transport := &http.Transport{TLSClientConfig: tlsConfig, TLSHandshakeTimeout: headerTimeout, ResponseHeaderTimeout: 2 * headerTimeout}
	if !c.NoProxy {
		transport.Proxy = http.ProxyFromEnvironment
	}
	for _, s := range out.servers {
		s.http = &http.Client{Transport: s.transport(transport)}
	}
	return out, nil
}

// headerTimeout bounds a TLS handshake; response headers get twice that.
const headerTimeout = 15 * time.Second

// Close closes idle connections.
func (c *Client) Close() {
	for _, s := range c.servers {
		s.http.CloseIdleConnections()
	}
}

// open sends a GET request and returns a response with status 200; the caller closes its body. When a server does not answer or
// is about to stop, the request goes to the next one. Each server gets it at most once.
func (c *Client) open(ctx context.Context, path string, query url.Values, accept string) (*http.Response, error) {
	var errs []error
	for range c.servers {
		resp, err := c.send(ctx, path, query, accept)
		if err == nil {
			return resp, nil
		}
		if isPermanent(err) || ctx.Err() != nil || HasCode(err, http.StatusGone) {
			return nil, err
		}
		errs = append(errs, err)
		c.current.Add(1)
	}
	return nil, errors.Join(errs...)
}

func (c *Client) send(ctx context.Context, path string, query url.Values, accept string) (*http.Response, error) {
	to := c.servers[c.current.Load()%uint64(len(c.servers))]
	u := *to.url
	u.Path += path
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("User-Agent", "revtail")
	if c.tokenFile != "" {
		token, readErr := os.ReadFile(c.tokenFile)
		if readErr != nil {
			return nil, &StatusError{Code: http.StatusUnauthorized, Message: "--token-file: " + readErr.Error()}
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	resp, err := to.http.Do(req)
	if err != nil {
		return nil, c.explainFailure(ctx, to, err)
	}
	if resp.StatusCode != http.StatusOK {
		defer func() { _ = resp.Body.Close() }()
		status := newStatusError(resp)
		if resp.StatusCode == http.StatusBadRequest && to.speaksTLS(ctx) {
			return nil, c.newTLSError(to)
		}
		return nil, status
	}
	return resp, nil
}

// requestTimeout bounds a request that is no watch.
const requestTimeout = time.Minute

// get decodes the body of a JSON response.
func (c *Client) get(ctx context.Context, path string, query url.Values, accept string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	resp, err := c.open(ctx, path, query, accept)
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
	resp, err := c.open(ctx, path, values, "*/*")
	if err != nil {
		return Page{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return Page{string(text), resp.Header.Get("Date"), resp.Header.Get("Server") + resp.Header.Get("Via")}, err
}
