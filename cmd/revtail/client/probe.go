package client

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Page is an answer that is text.
type Page struct {
	Text string
	Date string // of its header
}

// Page reads one of a gateway's pages.
func (c *Client) Page(ctx context.Context, path string) (Page, error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
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
	return Page{string(text), resp.Header.Get("Date")}, err
}

// TimeStream opens a watch, for a time, that says something at its beginning and nothing more. It tells how long it took until that
// arrived, and how long the watch lasted.
func (c *Client) TimeStream(ctx context.Context, q Query, lasts time.Duration) (first, lasted time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, lasts+answerLimit)
	defer cancel()
	values := q.values()
	for key, value := range map[string]string{
		"watch": "true", "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true",
		"timeoutSeconds": strconv.Itoa(int(lasts.Seconds())),
	} {
		values.Set(key, value)
	}
	began := time.Now()
	resp, err := c.open(ctx, q.path(), values, "application/json")
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewReader(resp.Body)
	if _, err := lines.ReadString('\n'); err != nil && !errors.Is(err, io.EOF) {
		return 0, time.Since(began), err
	}
	first = time.Since(began)
	_, err = io.Copy(io.Discard, lines)
	return first, time.Since(began), err
}
