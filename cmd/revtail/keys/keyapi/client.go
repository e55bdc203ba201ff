package keyapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"revtail/cmd/revtail/client"
)

// Page is the answer to a read.
type Page struct {
	Revision int64             `json:"revision"`
	Items    []json.RawMessage `json:"items"`
	Continue string            `json:"continue"`
	Count    int64             `json:"count"`
}

// Client sends requests to the keys API.
type Client struct{ *client.Client }

// requestTimeout bounds a request that is no watch.
const requestTimeout = time.Minute

// Query returns the query of requests about keys.
func Query(keys ...string) url.Values {
	out := url.Values{}
	for _, key := range keys {
		name := NewName(key)
		if name.Key64 != "" {
			out.Add("key64", name.Key64)
		} else {
			out.Add("key", name.Key)
		}
	}
	return out
}

// Path is the path of the API.
const Path = "/v1/keys"

// Call sends a request and decodes its answer.
func (c *Client) Call(ctx context.Context, r client.Request, into any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Set("Accept", "application/json")
	resp, err := c.Do(ctx, r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s: this is no answer of a gateway: %w", r.Path, err)
	}
	return nil
}

// Pages reads the items of a query, all as of one revision. It ends when each returns false. more reports whether items follow.
func (c *Client) Pages(ctx context.Context, values url.Values, limit int64, each func(revision int64, i json.RawMessage) error) (revision int64, more bool, err error) {
	for read := int64(0); ; {
		if limit > 0 {
			values.Set("limit", strconv.FormatInt(limit-read, 10))
		}
		var p Page
		if err := c.Call(ctx, client.Request{Path: Path, Query: values}, &p); err != nil {
			return revision, false, err
		}
		revision = p.Revision
		for _, i := range p.Items {
			if err := each(p.Revision, i); err != nil {
				return revision, false, err
			}
		}
		read += int64(len(p.Items))
		if p.Continue == "" || limit > 0 && read >= limit {
			return revision, p.Continue != "", nil
		}
		values.Set("continue", p.Continue)
		values.Del("at") // the continue token has the revision
	}
}

// Count returns how many keys a prefix has as of a revision; zero: now. The revision is that of the answer.
func (c *Client) Count(ctx context.Context, key string, at int64) (count, revision int64, err error) {
	values := Query(key)
	values.Set("count", "true")
	if at > 0 {
		values.Set("at", strconv.FormatInt(at, 10))
	}
	var p Page
	err = c.Call(ctx, client.Request{Path: Path, Query: values}, &p)
	return p.Count, p.Revision, err
}

// Read returns a key with its value, byte for byte, as of a revision; zero: now. It returns nil if there is no such key.
func (c *Client) Read(ctx context.Context, key string, at int64) (*Item, error) {
	values := Query(key)
	values.Set("encoding", "base64")
	if at > 0 {
		values.Set("at", strconv.FormatInt(at, 10))
	}
	var got struct{ Items []Item }
	err := c.Call(ctx, client.Request{Path: Path, Query: values}, &got)
	if client.HasCode(err, http.StatusNotFound) {
		return nil, nil
	}
	if err != nil || len(got.Items) == 0 {
		return nil, err
	}
	return &got.Items[0], nil
}
