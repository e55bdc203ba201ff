package request

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/http/status"
)

func request(query string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil)
	r.URL.RawQuery = query
	return r
}

func TestBooleanParameters(t *testing.T) {
	for text, want := range map[string]bool{"0": false, "false": false, "FALSE": false, "": true, "1": true, "true": true, "yes": true, "abc": true} {
		if got := ParseBool(text); got != want {
			t.Errorf("parseBool(%q) = %v", text, got)
		}
	}
}

func TestResourceVersionParameter(t *testing.T) {
	for text, want := range map[string]etcdstore.Revision{"": 0, "0": 0, "1": 1, "9223372036854775807": 1<<63 - 1} {
		got, unset, err := ParseRevision(text)
		if err != nil || got != want || unset != (text == "") {
			t.Errorf("parseRevision(%q) = %d, %v, %v", text, got, unset, err)
		}
	}
	for _, text := range []string{"abc", "-1", "1.5", "9223372036854775808", "18446744073709551616", " 1", "0x1"} {
		_, _, err := ParseRevision(text)
		if err == nil {
			t.Errorf("parseRevision(%q) is accepted", text)
			continue
		}
		if code := status.Of(err).Code; code != http.StatusBadRequest {
			t.Errorf("parseRevision(%q): %d", text, code)
		}
	}
}

func TestListParameters(t *testing.T) {
	p, err := ParseListOptions(request("labelSelector=a%3Db&labelSelector=c&limit=-1&timeoutSeconds=7&unknown=1&allowWatchBookmarks=true&watch=0"), false)
	if err != nil {
		t.Fatal(err)
	}
	if p.watch || !p.Bookmarks || p.Limit != 0 || p.Timeout != 7*time.Second || !p.Unset || p.Selector.Empty() {
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
		_, err := ParseListOptions(request(query), false)
		if err == nil || status.Of(err).Code != code {
			t.Errorf("%s: %v, want %d", query, err, code)
		}
	}
}

func TestWatchParametersSetTheStart(t *testing.T) {
	for query, want := range map[string]bool{
		"":                  true,
		"resourceVersion=0": true,
		"resourceVersion=5": false,
		"sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=5": true,
		"sendInitialEvents=false&resourceVersionMatch=NotOlderThan":                  false,
	} {
		p, err := ParseListOptions(request(query), true)
		if err != nil || p.InitialEvents != want {
			t.Errorf("%q: begins with the state: %v (%v), want %v", query, p.InitialEvents, err, want)
		}
	}
}

func TestContinueToken(t *testing.T) {
	token := ContinueToken{Revision: 685, After: "ns/w-b"}
	text := token.Text("pods/")
	if want := "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6Njg1LCJzdGFydCI6Im5zL3ctYlx1MDAwMCIsInNlYWwiOiJ"; !strings.HasPrefix(text, want) {
		t.Errorf("the token is %s", text)
	}
	parsed, err := parseContinueToken(text)
	if err != nil || parsed.Revision != token.Revision || parsed.After != token.After || parsed.Check("pods/") != nil {
		t.Errorf("%+v came back as %+v (%v)", token, parsed, err)
	}
	for _, moved := range []string{"secrets/", "pods/ns", "pods/n", ""} {
		if err := parsed.Check(moved); status.Of(err).Code != http.StatusBadRequest {
			t.Errorf("a token of pods/ is accepted for the list %q: %v", moved, err)
		}
	}
	for _, forged := range []ContinueToken{{684, "ns/w-b", parsed.checksum}, {-1, "ns/w-b", parsed.checksum}, {685, "other/w", parsed.checksum}, {685, "ns/w-b", ""}} {
		if err := forged.Check("pods/"); status.Of(err).Code != http.StatusBadRequest {
			t.Errorf("%+v is accepted: %v", forged, err)
		}
	}
}

func FuzzContinueToken(f *testing.F) {
	for _, seed := range []string{"", "garbage", ContinueToken{5, "a", ""}.Text(""), ContinueToken{-1, "../x", ""}.Text("")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		token, err := parseContinueToken(text)
		if err != nil {
			if status.Of(err).Code != http.StatusBadRequest {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if token.Revision == 0 || strings.Contains("/"+token.After+"/", "/../") {
			t.Errorf("%q gives %+v", text, token)
		}
		if again, err := parseContinueToken(token.Text("pods/")); err != nil || again.Revision != token.Revision || again.After != token.After {
			t.Errorf("%+v comes back as %+v (%v)", token, again, err)
		}
	})
}

// FuzzQuery checks that any query is parsed, or refused with a 4xx.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"watch=1&resourceVersion=5", "limit=2&continue=x", "labelSelector=a+in+(b)&fieldSelector=a.b%3Dc", "timeoutSeconds=99999999999999999999", "%zz"} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, query string, watch bool) {
		p, err := ParseListOptions(request(query), watch)
		if err != nil {
			if code := status.Of(err).Code; code < 400 || code > 499 {
				t.Errorf("%q: %d %v", query, code, err)
			}
			return
		}
		if p.Revision < 0 || p.Limit < 0 || p.Timeout < 0 {
			t.Errorf("%q: %+v", query, p)
		}
		if values, err := url.ParseQuery(query); err == nil && !watch && values.Get("continue") != "" && p.Continue == nil {
			t.Errorf("%q: the continue token is lost", query)
		}
	})
}
