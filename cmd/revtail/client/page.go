package client

import (
	"context"
	"io"
	"net/url"
	"strings"
)

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
