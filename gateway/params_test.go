package gateway

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"revtail/etcdstore"
)

func request(query string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil)
	r.URL.RawQuery = query
	return r
}

func TestBooleanParameters(t *testing.T) {
	for text, want := range map[string]bool{"0": false, "false": false, "FALSE": false, "": true, "1": true, "true": true, "yes": true, "abc": true} {
		if got := parseBool(text); got != want {
			t.Errorf("parseBool(%q) = %v", text, got)
		}
	}
}

func TestResourceVersionParameter(t *testing.T) {
	for text, want := range map[string]etcdstore.Revision{"": 0, "0": 0, "1": 1, "9223372036854775807": 1<<63 - 1} {
		got, unset, err := parseRevision(text)
		if err != nil || got != want || unset != (text == "") {
			t.Errorf("parseRevision(%q) = %d, %v, %v", text, got, unset, err)
		}
	}
	for _, text := range []string{"abc", "-1", "1.5", "9223372036854775808", "18446744073709551616", " 1", "0x1"} {
		_, _, err := parseRevision(text)
		if err == nil {
			t.Errorf("parseRevision(%q) is accepted", text)
			continue
		}
		if code := toStatus(err).Code; code != http.StatusBadRequest {
			t.Errorf("parseRevision(%q): %d", text, code)
		}
	}
}

func TestListParameters(t *testing.T) {
	p, err := parseListParams(request("labelSelector=a%3Db&labelSelector=c&limit=-1&timeoutSeconds=7&unknown=1&allowWatchBookmarks=true&watch=0"), false)
	if err != nil {
		t.Fatal(err)
	}
	if p.watch || !p.bookmarks || p.limit != 0 || p.timeout != 7*time.Second || !p.unset || p.selector.Empty() {
		t.Errorf("%+v", p)
	}
	for query, code := range map[string]int32{
		"limit=abc":                                    http.StatusBadRequest,
		"timeoutSeconds=abc":                           http.StatusBadRequest,
		"limit=":                                       http.StatusBadRequest,
		"timeoutSeconds=":                              http.StatusBadRequest,
		"labelSelector=l%20in":                         http.StatusBadRequest,
		"fieldSelector=metadata.name%20in%20(a)":       http.StatusBadRequest,
		"resourceVersionMatch=Exact":                   http.StatusUnprocessableEntity,
		"resourceVersion=0&resourceVersionMatch=Exact": http.StatusUnprocessableEntity,
		"resourceVersion=1&resourceVersionMatch=Bogus": http.StatusUnprocessableEntity,
		"sendInitialEvents=true":                       http.StatusUnprocessableEntity,
		"continue=garbage":                             http.StatusBadRequest,
		"resourceVersion=x":                            http.StatusBadRequest,
	} {
		_, err := parseListParams(request(query), false)
		if err == nil || toStatus(err).Code != code {
			t.Errorf("%s: %v, want %d", query, err, code)
		}
	}
}

func TestWatchParametersSayWhereItBegins(t *testing.T) {
	for query, want := range map[string]bool{
		"":                  true,
		"resourceVersion=0": true,
		"resourceVersion=5": false,
		"sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=5": true,
		"sendInitialEvents=false&resourceVersionMatch=NotOlderThan":                  false,
	} {
		p, err := parseListParams(request(query), true)
		if err != nil || p.state != want {
			t.Errorf("%q: begins with the state: %v (%v), want %v", query, p.state, err, want)
		}
	}
}

func TestContinueToken(t *testing.T) {
	token := continueToken{Revision: 685, After: "ns/w-b"}
	text := token.text("pods/")
	if want := "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6Njg1LCJzdGFydCI6Im5zL3ctYlx1MDAwMCIsInNlYWwiOiJ"; !strings.HasPrefix(text, want) {
		t.Errorf("the token is %s", text)
	}
	parsed, err := parseContinueToken(text)
	if err != nil || parsed.Revision != token.Revision || parsed.After != token.After || parsed.check("pods/") != nil {
		t.Errorf("%+v came back as %+v (%v)", token, parsed, err)
	}
	for _, moved := range []string{"secrets/", "pods/ns", "pods/n", ""} {
		if err := parsed.check(moved); toStatus(err).Code != http.StatusBadRequest {
			t.Errorf("a token of pods/ is taken for the list %q: %v", moved, err)
		}
	}
	for _, forged := range []continueToken{{684, "ns/w-b", parsed.seal}, {-1, "ns/w-b", parsed.seal}, {685, "other/w", parsed.seal}, {685, "ns/w-b", ""}} {
		if err := forged.check("pods/"); toStatus(err).Code != http.StatusBadRequest {
			t.Errorf("%+v is taken: %v", forged, err)
		}
	}
}

func FuzzContinueToken(f *testing.F) {
	for _, seed := range []string{"", "garbage", continueToken{5, "a", ""}.text(""), continueToken{-1, "../x", ""}.text("")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		token, err := parseContinueToken(text)
		if err != nil {
			if toStatus(err).Code != http.StatusBadRequest {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if token.Revision == 0 || strings.Contains("/"+token.After+"/", "/../") {
			t.Errorf("%q gives %+v", text, token)
		}
		if again, err := parseContinueToken(token.text("pods/")); err != nil || again.Revision != token.Revision || again.After != token.After {
			t.Errorf("%+v comes back as %+v (%v)", token, again, err)
		}
	})
}

// FuzzQuery: whatever a client asks, the answer is a query or a 4xx.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"watch=1&resourceVersion=5", "limit=2&continue=x", "labelSelector=a+in+(b)&fieldSelector=a.b%3Dc", "timeoutSeconds=99999999999999999999", "%zz"} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, query string, watch bool) {
		p, err := parseListParams(request(query), watch)
		if err != nil {
			if code := toStatus(err).Code; code < 400 || code > 499 {
				t.Errorf("%q: %d %v", query, code, err)
			}
			return
		}
		if p.revision < 0 || p.limit < 0 || p.timeout < 0 {
			t.Errorf("%q: %+v", query, p)
		}
		if values, err := url.ParseQuery(query); err == nil && !watch && values.Get("continue") != "" && p.after == nil {
			t.Errorf("%q: the continue token is lost", query)
		}
	})
}
