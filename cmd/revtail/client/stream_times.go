package client

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strconv"
	"time"
)

// StreamTimes has the times of a watch since its request was sent.
type StreamTimes struct {
	First    time.Duration // when the first event arrived; zero: none did
	Bookmark time.Duration // when an event arrived in the interval of the bookmark before the end; zero: none did
	End      time.Duration // when the stream ended
}

const (
	// bookmarkBeforeEnd is the time from the last regular bookmark of a watch to its end. The end may bring another bookmark.
	bookmarkBeforeEnd = 2 * time.Second
	// bookmarkTolerance is how early or late the bookmark may arrive.
	bookmarkTolerance = 500 * time.Millisecond
)

// TimeStream measures a watch of the given duration, which has a bookmark at its beginning and another 2 s before its end. The
// error is that of the request or of the stream.
func (c *Client) TimeStream(ctx context.Context, q Query, duration time.Duration) (t StreamTimes, err error) {
	ctx, cancel := context.WithTimeout(ctx, duration+headerTimeout)
	defer cancel()
	values := q.values()
	for key, value := range map[string]string{
		"watch": "true", "sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true",
		"timeoutSeconds": strconv.Itoa(int(duration.Seconds())),
	} {
		values.Set(key, value)
	}
	began := time.Now()
	defer func() { t.End = time.Since(began) }()
	resp, err := c.open(ctx, Request{Path: q.path(), Query: values})
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
		if left := duration - now; left < bookmarkBeforeEnd+bookmarkTolerance && left > bookmarkTolerance {
			t.Bookmark = now
		}
	}
}
