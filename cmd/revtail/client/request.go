package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
)

// Request is a request to a gateway.
type Request struct {
	Method string // empty: GET
	Path   string // decoded, below the URL of the gateway
	Query  url.Values
	Header http.Header
	Body   []byte
}

// reads reports whether the request changes nothing.
func (r Request) reads() bool { return r.Method == "" || r.Method == http.MethodGet }

// maxRetries is how often Do sends a request again, as Kubernetes' own clients do.
const maxRetries = 10

// Do sends a request and returns a response whose status is 2xx; the caller closes its body. Another status is a *StatusError. While
// the gateway answers 429 or 503 with Retry-After, which means that it has not carried out the request, Do waits and sends it again, but
// not after a 503 of a gateway in this process, which serves a file. A write is never sent twice when its outcome is unknown. If ctx ends
// meanwhile, the error is the last answer. Do has no timeout of its own.
func (c *Client) Do(ctx context.Context, r Request) (*http.Response, error) {
	var refused error
	for retries := 0; ; retries++ {
		resp, err := c.open(ctx, r)
		if err != nil && refused != nil && ctx.Err() != nil {
			return nil, refused
		}
		delay := retryAfter(err)
		unavailable := HasCode(err, http.StatusServiceUnavailable)
		if delay == 0 || retries == maxRetries || !HasCode(err, http.StatusTooManyRequests) && !unavailable || unavailable && c.inProcess {
			return resp, err
		}
		refused = err
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// open sends a request and returns a response whose status is 2xx; the caller closes its body. When a server cannot be reached or
// is about to stop, the request goes to the next one; so does a read that fails. Each server gets the request at most once.
func (c *Client) open(ctx context.Context, r Request) (*http.Response, error) {
	var errs []error
	for range c.servers {
		resp, err := c.send(ctx, r)
		if err == nil {
			return resp, nil
		}
		if IsPermanent(err) || ctx.Err() != nil || HasCode(err, http.StatusGone) || !r.reads() && !notCarriedOut(err) {
			return nil, err
		}
		errs = append(errs, err)
		c.current.Add(1)
	}
	return nil, errors.Join(errs...)
}

// notCarriedOut reports whether an error says that the server has not carried out the request.
func notCarriedOut(err error) bool {
	unconnected := (*net.OpError)(nil)
	return errors.As(err, &unconnected) && unconnected.Op == "dial" ||
		HasCode(err, http.StatusTooManyRequests) || HasCode(err, http.StatusServiceUnavailable)
}

func (c *Client) send(ctx context.Context, r Request) (*http.Response, error) {
	to := c.servers[c.current.Load()%uint64(len(c.servers))]
	u := *to.url
	u.Path += r.Path
	u.RawQuery = r.Query.Encode()
	req, err := http.NewRequestWithContext(ctx, cmp.Or(r.Method, http.MethodGet), u.String(), bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	if r.Header != nil {
		req.Header = r.Header.Clone()
	}
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
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer func() { _ = resp.Body.Close() }()
		return nil, c.explainStatus(ctx, to, r, resp)
	}
	return resp, nil
}
