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
	Text   string
	Date   string // of its header
	Server string // what answers calls itself; empty for a gateway without a proxy before it
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
	return Page{string(text), resp.Header.Get("Date"), resp.Header.Get("Server") + resp.Header.Get("Via")}, err
}

// StreamTimes are times since a watch was asked for.
type StreamTimes struct {
	First time.Duration // until its first event arrived; zero: none did
	Mark  time.Duration // until one arrived in the time of the bookmark before the end; zero: none did
	End   time.Duration // until it ended
}

const (
	// markBefore is how long before its end a watch has a bookmark. Another one may come with the end, if anything was written.
	markBefore = 2 * time.Second
	// markGrace is how early or late it may be.
	markGrace = 500 * time.Millisecond
)

// TimeStream opens a watch, for a time, that has a bookmark at its beginning, one 2 s before its end, and perhaps others. An error is
// about how it ended, or why it did not begin.
func (c *Client) TimeStream(ctx context.Context, q Query, lasts time.Duration) (t StreamTimes, err error) {
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
	defer func() { t.End = time.Since(began) }()
	resp, err := c.open(ctx, q.path(), values, "application/json")
	if err != nil {
		return t, err
	}
	defer func() { _ = resp.Body.Close() }()
	for lines := bufio.NewReader(resp.Body); ; {
		_, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return t, err
		}
		now := time.Since(began)
		if t.First == 0 {
			t.First = now
		}
		if left := lasts - now; left < markBefore+markGrace && left > markGrace {
			t.Mark = now
		}
	}
}
