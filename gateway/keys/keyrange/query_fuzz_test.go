package keyrange

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// FuzzParseQuery checks that a request is about the keys that it names, whatever else its query has; that a continue token leads to no
// other key; that all numbers and times are in their limits; and that a time is the one of package time.
func FuzzParseQuery(f *testing.F) {
	for _, seed := range []string{
		"limit=5&continue=" + Continue(7, "/app/a"), "continue=" + Continue(7, "/other"), "at=9&continue=" + Continue(7, "/app/b"),
		"at=-10m", "at=2026-11-21T10:00:00%2B01:00", "at=2026-11-21T10:00:00Z&count", "at=10m", "depth=1&keysOnly", "watch&since=5&slow=latest",
		"wait=3s&since=5&prev=false", "ttl=5s", "prefix=true", "limit=99999999999999999999", "key=/b/&key=/c&watch", "filter=key!=''&fields=a&fields=b.c",
	} {
		for _, method := range []string{"GET", "PUT", "DELETE"} {
			f.Add(method, "/app/", seed)
		}
	}
	f.Fuzz(func(t *testing.T, method, path, text string) {
		values, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		q, err := ParseQuery(method, path, values)
		named, invalid := Parse(path, url.Values{"key": values["key"], "key64": values["key64"]})
		if !slices.Equal(q.All.Texts(), named.Texts()) {
			t.Errorf("%s %q?%s is about %q, want %q", method, path, text, q.All.Texts(), named.Texts())
		}
		if err != nil {
			return
		}
		if invalid != nil || len(q.All) == 0 || q.Keys != q.All[0] || len(q.All) > 1 && !q.Watch {
			t.Errorf("%s %q?%s: %+v (%v)", method, path, text, q, invalid)
		}
		if q.Limit < 1 || q.Limit > maxItems || q.At < 0 || q.Since < 0 || q.MinRevision < 0 || q.Wait < 0 || q.TTL < 0 || q.At != 0 && q.AtTime != nil {
			t.Errorf("%s %q?%s: %+v", method, path, text, q)
		}
		if q.After != "" && !q.Keys.Contains(q.After) {
			t.Errorf("%s %q?%s goes on after %q", method, path, text, q.After)
		}
		checkTime(t, values.Get("at"), q)
		checkContinue(t, path, values, q)
	})
}

// checkTime checks the time in a query without a continue token, which has a revision of its own.
func checkTime(t *testing.T, text string, q Query) {
	t.Helper()
	if q.AtTime == nil {
		return
	}
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	want, err := time.Parse(time.RFC3339, strings.ReplaceAll(text, " ", "+"))
	if ago, isAgo := strings.CutPrefix(text, "-"); isAgo {
		var d time.Duration
		d, err = time.ParseDuration(ago)
		want = now.Add(-d)
	}
	if got := q.AtTime.Of(now); err != nil || !got.Equal(want) {
		t.Errorf("at=%q is %v, want %v (%v)", text, got, want, err)
	}
}

// checkContinue checks that the token of a page leads back to it, and that other keys refuse the token.
func checkContinue(t *testing.T, path string, values url.Values, q Query) {
	t.Helper()
	if q.After == "" {
		return
	}
	keys := url.Values{"key": values["key"], "key64": values["key64"], "continue": {Continue(q.At, q.After)}}
	if again, err := ParseQuery("GET", path, keys); err != nil || again.After != q.After || again.At != q.At {
		t.Errorf("%+v comes back as %+v (%v)", q, again, err)
	}
	keys = url.Values{"continue": keys["continue"]}
	if other, err := ParseQuery("GET", "/another/prefix/", keys); err == nil && !strings.HasPrefix(q.After, "/another/prefix/") {
		t.Errorf("the token of a page of %q is accepted for others: %+v", q.Keys, other)
	}
}
