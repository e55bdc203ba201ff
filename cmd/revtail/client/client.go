// Package client is a gateway as its clients see it: which resources there are, lists, and watches that outlive their
// connections.
package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/config"
)

// Config says where gateways are and how to talk to them.
type Config struct {
	Servers   []string // URLs of gateways of one etcd: while one does not answer, the next is asked
	CACert    string   // file of the authorities that their certificates are checked with; empty: the system's
	Cert, Key string   // files of the client's certificate; empty: none
	TokenFile string   // file of a bearer token, read again for each request; empty: none
}

// Client asks gateways. It is safe for concurrent use.
type Client struct {
	servers   []*url.URL
	turn      atomic.Uint64 // which of them is asked
	http      *http.Client
	tokenFile string
}

// New makes a client. It asks nobody yet.
func New(c Config) (*Client, error) {
	out := &Client{tokenFile: c.TokenFile}
	secrets := c.TokenFile != ""
	loopback := true
	for _, server := range c.Servers {
		u, err := url.Parse(strings.TrimRight(server, "/"))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
			return nil, fmt.Errorf("--server %q: want a URL as http://127.0.0.1:8080", server)
		}
		local := config.Loopback(u.Hostname())
		if secrets && u.Scheme == "http" && !local {
			return nil, fmt.Errorf("--server %s: the token of --token-file would cross the network for anybody to read: use https://", server)
		}
		loopback = loopback && local
		out.servers = append(out.servers, u)
	}
	if len(out.servers) == 0 {
		return nil, errors.New("--server: want a URL as http://127.0.0.1:8080")
	}
	tlsConfig, err := c.tls()
	if err != nil {
		return nil, err
	}
	// Nobody else can listen on loopback but who is on this machine; a token is not shown to them either.
	tlsConfig.InsecureSkipVerify = loopback && c.CACert == "" && !secrets
	out.http = &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: tlsConfig, TLSHandshakeTimeout: answerLimit, ResponseHeaderTimeout: 2 * answerLimit,
	}}
	return out, nil
}

// answerLimit is how long a gateway may take to begin with something.
const answerLimit = 15 * time.Second

func (c Config) tls() (*tls.Config, error) {
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CACert != "" {
		pem, err := os.ReadFile(c.CACert)
		if err != nil {
			return nil, fmt.Errorf("--cacert: %w", err)
		}
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--cacert %s: no certificate in this file", c.CACert)
		}
	}
	if (c.Cert == "") != (c.Key == "") {
		return nil, errors.New("--cert and --key go together: give both or none")
	}
	if c.Cert != "" {
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, fmt.Errorf("--cert, --key: %w", err)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}

// Close drops idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// StatusError is an answer that is a refusal.
type StatusError struct {
	Code       int    // of HTTP
	Reason     string // of Kubernetes' Status
	Message    string
	RetryAfter time.Duration
}

func (e *StatusError) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("%d %s", e.Code, http.StatusText(e.Code))
	}
	return e.Message
}

// hasCode tells whether an error is a StatusError with one of the codes.
func hasCode(err error, codes ...int) bool {
	refused := (*StatusError)(nil)
	if !errors.As(err, &refused) {
		return false
	}
	for _, code := range codes {
		if refused.Code == code {
			return true
		}
	}
	return false
}

// lasting tells whether an error will be the same when the request is made again.
func lasting(err error) bool {
	refused := (*StatusError)(nil)
	return errors.As(err, &refused) && refused.Code < 500 && refused.Code != http.StatusTooManyRequests && refused.Code != http.StatusGone
}

// open makes a GET request and returns an answer of 200, whose body the caller closes. A server that does not answer, or is about
// to stop, gives way to the next; each is asked once.
func (c *Client) open(ctx context.Context, path string, query url.Values, accept string) (*http.Response, error) {
	var errs []error
	for range c.servers {
		resp, err := c.ask(ctx, path, query, accept)
		if err == nil {
			return resp, nil
		}
		if lasting(err) || ctx.Err() != nil || hasCode(err, http.StatusGone) {
			return nil, err
		}
		errs = append(errs, err)
		c.turn.Add(1)
	}
	return nil, errors.Join(errs...)
}

func (c *Client) ask(ctx context.Context, path string, query url.Values, accept string) (*http.Response, error) {
	u := *c.servers[c.turn.Load()%uint64(len(c.servers))]
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
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, explain(ctx, &u, err)
	}
	if resp.StatusCode != http.StatusOK {
		defer func() { _ = resp.Body.Close() }()
		refused := refusal(resp)
		if resp.StatusCode == http.StatusBadRequest && wantsTLS(ctx, &u) {
			return nil, errWantsTLS(&u)
		}
		return nil, refused
	}
	return resp, nil
}

// refusal is what an answer other than 200 says.
func refusal(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return err
	}
	out := &StatusError{Code: resp.StatusCode}
	var status metav1.Status
	if json.Unmarshal(body, &status) == nil && status.Kind == "Status" {
		out.Reason, out.Message = string(status.Reason), status.Message
	} else {
		out.Message = resp.Status + said(resp.Header.Get("Content-Type"), string(body))
	}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		out.RetryAfter = time.Duration(min(seconds, 60)) * time.Second
	}
	return out
}

// said is what somebody who is no gateway has to say; a page for browsers says no more than its status.
func said(contentType, body string) string {
	const most = 500
	if body = strings.TrimSpace(body); body == "" || strings.HasPrefix(contentType, "text/html") {
		return ""
	}
	return ": " + body[:min(len(body), most)]
}

// wholeLimit is how long a request that is no watch may take.
const wholeLimit = time.Minute

// get reads a whole answer.
func (c *Client) get(ctx context.Context, path string, query url.Values, accept string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, wholeLimit)
	defer cancel()
	resp, err := c.open(ctx, path, query, accept)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
