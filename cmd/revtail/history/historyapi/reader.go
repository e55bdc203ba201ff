package historyapi

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"revtail/cmd/revtail/client"
)

// Query selects changes.
type Query struct {
	Resource  client.Resource
	Namespace string // empty: all
	Name      string // empty: all
	Filter    string // CEL expression
	Manager   string // only changes by this field manager; empty: by all
	Since     string // a parameter of the gateway, inclusive; empty: all that is recorded
	Until     string // like Since
	Previous  bool   // entries have the object before the change
	Limit     int    // changes of a page; zero: 200

	Descending bool // the newest change first
}

// values are the parameters of a page.
func (q Query) values() url.Values {
	out := url.Values{"resource": {q.Resource.Plural}, "limit": {strconv.Itoa(cmp.Or(q.Limit, pageSize))}}
	for name, value := range map[string]string{
		"group": q.Resource.Group, "version": q.Resource.Version, "namespace": q.Namespace, "name": q.Name,
		"filter": q.Filter, "manager": q.Manager, "since": q.Since, "until": q.Until,
	} {
		if value != "" {
			out.Set(name, value)
		}
	}
	if q.Descending {
		out.Set("order", "desc")
	}
	if q.Previous {
		out.Set("previous", "true")
	}
	return out
}

const (
	// path is that of the API.
	path = "/v1/history"
	// pageSize is the number of changes in a page. One page of each query is in memory.
	pageSize = 200
	// timeout bounds the request for a page.
	timeout = 2 * time.Minute
	// maxLine is the greatest length of a line: two objects, and what is around them.
	maxLine = 64 << 20
)

// Reader reads the entries of a query, in the order of their revisions.
type Reader struct {
	Client *client.Client
	Query  Query

	// End is that of the last page that was read. Its Oldest is that of the first one.
	End End
}

// Entries returns the entries. An error ends the sequence; without one, End is set afterwards.
func (r *Reader) Entries(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		q, gaps := r.Query, make(map[int64]bool)
		for first := true; ; first = false {
			entries, end, err := r.page(ctx, q)
			if err != nil {
				yield(Entry{}, explain(q, err))
				return
			}
			if !first {
				end.Oldest, end.OldestTime = r.End.Oldest, r.End.OldestTime
			}
			r.End = end
			for _, e := range entries {
				if e.IsGap() && gaps[e.Until] { // the next page may begin in a gap that the last one had
					continue
				}
				if e.IsGap() {
					gaps[e.Until] = true
				}
				if !yield(e, nil) {
					return
				}
			}
			if end.Next == 0 {
				return
			}
			if next := strconv.FormatInt(end.Next, 10); q.Descending {
				q.Until = next
			} else {
				q.Since = next
			}
		}
	}
}

// Through returns the newest revision whose changes are recorded. Since of the query is a revision, which should be a late one.
func (r *Reader) Through(ctx context.Context) (int64, error) {
	q := r.Query
	q.Limit, q.Previous = 1, false
	_, end, err := r.page(ctx, q)
	if err != nil {
		return 0, explain(q, err)
	}
	return end.Through, nil
}

// page reads one page.
func (r *Reader) page(ctx context.Context, q Query) (entries []Entry, end End, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, err := r.Client.Do(ctx, client.Request{Path: path, Query: q.values(), Header: http.Header{"Accept": {"application/x-ndjson, application/json"}}})
	if err != nil {
		return nil, end, err
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for lines.Scan() {
		entry, last, err := parseLine(append([]byte(nil), lines.Bytes()...))
		if err != nil {
			return nil, end, err
		}
		if last != nil {
			return entries, *last, checkNext(q, *last)
		}
		entries = append(entries, entry)
	}
	if err := lines.Err(); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, end, err
	}
	return nil, end, fmt.Errorf("the response of the gateway was cut off after %d changes: try again", len(entries))
}

// checkNext refuses a page that would be read forever.
func checkNext(q Query, end End) error {
	if until, err := strconv.ParseInt(q.Until, 10, 64); q.Descending && err == nil && end.Next >= until {
		return fmt.Errorf("the gateway continues at revision %d after a page that ended at %d", end.Next, until)
	}
	if since, err := strconv.ParseInt(q.Since, 10, 64); !q.Descending && err == nil && end.Next != 0 && end.Next <= since {
		return fmt.Errorf("the gateway continues at revision %d after a page that began at %d", end.Next, since)
	}
	return nil
}
