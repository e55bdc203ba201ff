package authentication

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"revtail/gateway/config/reload"
)

func request(t *testing.T, url string, header ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://revtail"+url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

// withTokens returns an Authenticator with a token file for alice; write replaces the file.
func withTokens(t *testing.T) (a *Authenticator, token string, write func(content string)) {
	t.Helper()
	token, entry := NewToken(TokenEntry{User: "alice", Groups: []string{"dev"}})
	content, err := AppendToken(nil, entry)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "tokens.yaml")
	write = func(content string) {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(string(content))
	file, err := reload.Open("--token-file", name, ParseTokens, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	again := write
	write = func(content string) { again(content); file.Reload() }
	return New(Sources{Tokens: file}), token, write
}

func TestTokens(t *testing.T) {
	a, token, write := withTokens(t)
	inProtocol := "base64url.bearer.authorization.k8s.io." + base64.RawURLEncoding.EncodeToString([]byte(token))
	socket := []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Protocol"}
	for name, tt := range map[string]struct {
		header []string
		known  bool
	}{
		"header":                        {[]string{"Authorization", "Bearer " + token}, true},
		"scheme in lower case":          {[]string{"Authorization", "bearer   " + token}, true},
		"none":                          {nil, false},
		"another":                       {[]string{"Authorization", "Bearer " + token + "x"}, false},
		"beginning":                     {[]string{"Authorization", "Bearer " + token[:20]}, false},
		"empty":                         {[]string{"Authorization", "Bearer "}, false},
		"another scheme":                {[]string{"Authorization", "Basic " + token}, false},
		"the digest":                    {[]string{"Authorization", "Bearer " + digestOf(token)}, false},
		"protocol of a WebSocket":       {append(slices.Clone(socket), "v1, "+inProtocol), true},
		"protocol without a WebSocket":  {[]string{"Sec-WebSocket-Protocol", inProtocol}, false},
		"invalid protocol":              {append(slices.Clone(socket), inProtocol+"*"), false},
		"in the query, which is logged": {nil, false},
	} {
		url := "/"
		if strings.HasPrefix(name, "in the query") {
			url += "?access_token=" + token + "&token=" + token + "&authorization=" + token
		}
		got, err := a.Authenticate(request(t, url, tt.header...))
		if tt.known && (err != nil || got.Name != "alice" || !slices.Equal(got.Groups, []string{"dev", AuthenticatedAll})) {
			t.Errorf("%s: %+v, %v; want alice", name, got, err)
		}
		if !tt.known && !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %+v, %v; want it refused", name, got, err)
		}
	}

	alice, err := a.Authenticate(request(t, "/", "Authorization", "Bearer "+token))
	if err != nil {
		t.Fatal(err)
	}
	entry := "{user: alice, groups: [dev], sha256: " + digestOf(token) + "}\n"
	for _, tt := range []struct {
		content string
		holds   bool
	}{
		{"apiVersion: revtail/v1\ntokens:\n- " + entry + "# more\n", true},
		{"not a token file", true}, // the earlier content is kept
		{"apiVersion: revtail/v1\ntokens:\n- {user: bob, groups: [dev], sha256: " + digestOf(token) + "}\n", false},
		{"apiVersion: revtail/v1\ntokens:\n- {user: alice, sha256: " + digestOf(token) + "}\n", false},
		{"apiVersion: revtail/v1\ntokens:\n- " + entry, true},
		{"apiVersion: revtail/v1\ntokens: []\n", false},
	} {
		if write(tt.content); alice.Holds(time.Now()) != tt.holds {
			t.Errorf("after %q: valid %v, want %v", tt.content, !tt.holds, tt.holds)
		}
	}
	if _, err := a.Authenticate(request(t, "/", "Authorization", "Bearer "+token)); !errors.Is(err, ErrRefused) {
		t.Errorf("a removed token: %v", err)
	}
}

func digestOf(token string) string {
	digest := sha256.Sum256([]byte(token))
	return hex.EncodeToString(digest[:])
}

func TestParseTokensRefuses(t *testing.T) {
	digest := digestOf("secret")
	for name, content := range map[string]string{
		"no version":          "tokens: []\n",
		"unknown key":         "apiVersion: revtail/v1\ntoken: []\n",
		"a token":             "apiVersion: revtail/v1\ntokens: [{user: a, token: secret}]\n",
		"no user":             "apiVersion: revtail/v1\ntokens: [{sha256: " + digest + "}]\n",
		"anonymous":           "apiVersion: revtail/v1\ntokens: [{user: 'system:anonymous', sha256: " + digest + "}]\n",
		"unauthenticated":     "apiVersion: revtail/v1\ntokens: [{user: a, groups: ['system:unauthenticated'], sha256: " + digest + "}]\n",
		"a short digest":      "apiVersion: revtail/v1\ntokens: [{user: a, sha256: ab}]\n",
		"a long digest":       "apiVersion: revtail/v1\ntokens: [{user: a, sha256: " + digest + "00}]\n",
		"no digest":           "apiVersion: revtail/v1\ntokens: [{user: a}]\n",
		"an empty token":      "apiVersion: revtail/v1\ntokens: [{user: a, sha256: " + digestOf("") + "}]\n",
		"the same twice":      "apiVersion: revtail/v1\ntokens: [{user: a, sha256: " + digest + "},{user: b, sha256: " + digest + "}]\n",
		"a name of two lines": "apiVersion: revtail/v1\ntokens: [{user: \"a\\nb\", sha256: " + digest + "}]\n",
		"an invalid time":     "apiVersion: revtail/v1\ntokens: [{user: a, expires: soon, sha256: " + digest + "}]\n",
	} {
		if _, err := ParseTokens([]byte(content)); err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), digest) {
			t.Errorf("%s: %v, want an error without the secret", name, err)
		}
	}
	if tokens, err := ParseTokens([]byte("apiVersion: revtail/v1\ntokens: [{user: a, expires: 2001-01-01T00:00:00Z, sha256: " + digest + "}]\n")); err != nil {
		t.Error(err)
	} else if _, ok := tokens.find("secret", time.Now()); ok {
		t.Error("an expired token is accepted")
	}
}

func FuzzParseTokens(f *testing.F) {
	f.Add([]byte("apiVersion: revtail/v1\ntokens:\n- {user: a, groups: [b], expires: 2001-01-01T00:00:00Z, sha256: "+digestOf("a")+"}\n"), "a")
	f.Add([]byte("apiVersion: revtail/v1\ntokens: []\n"), "")
	f.Fuzz(func(t *testing.T, content []byte, text string) {
		tokens, err := ParseTokens(content)
		if err != nil {
			return
		}
		if found, ok := tokens.find(text, time.Now()); ok && !strings.Contains(strings.ToLower(string(content)), digestOf(text)) {
			t.Errorf("%q is the token of %s", text, found.identity.Name)
		}
		_, entry := NewToken(TokenEntry{User: "fuzz"})
		if longer, err := AppendToken(content, entry); err == nil {
			if tokens, err := ParseTokens(longer); err != nil || len(tokens.entries) == 0 {
				t.Errorf("the appended token cannot be read: %v", err)
			}
		}
	})
}

func TestTickets(t *testing.T) {
	a, token, write := withTokens(t)
	alice, err := a.Authenticate(request(t, "/", "Authorization", "Bearer "+token))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	issue := func() string {
		ticket, _, ok := a.Tickets.Issue(alice, "/api/v1/pods", now)
		if !ok {
			t.Fatal("no ticket")
		}
		return ticket
	}
	use := func(url string) error {
		identity, refused := a.Authenticate(request(t, url))
		if refused == nil && identity.Name != "alice" {
			t.Errorf("%s belongs to %s", url, identity.Name)
		}
		return refused
	}
	ticket := issue()
	if err := use("/api/v1/pods?watch=1&ticket=" + ticket); err != nil {
		t.Errorf("a ticket: %v", err)
	}
	if err := use("/api/v1/pods?watch=1&ticket=" + ticket); err == nil {
		t.Error("a ticket is valid twice")
	}
	ticket = issue()
	if err := use("/api/v1/secrets?ticket=" + ticket); err == nil {
		t.Error("a ticket is valid for another path")
	}
	if err := use("/api/v1/pods?ticket=" + ticket); err == nil {
		t.Error("a ticket is valid after a failed attempt")
	}
	post := request(t, "/api/v1/pods?ticket="+issue())
	post.Method = http.MethodPost
	if _, err := a.Authenticate(post); err == nil {
		t.Error("a ticket is valid for a write")
	}
	if err := use("/api/v1/pods?ticket=" + ticket[:5]); err == nil {
		t.Error("a part of a ticket is valid")
	}
	if _, err := a.Tickets.use(issue(), request(t, "/api/v1/pods"), now.Add(ticketLife)); err == nil {
		t.Error("a ticket never expires")
	}
	ticket = issue()
	write("apiVersion: revtail/v1\ntokens: []\n")
	if err := use("/api/v1/pods?ticket=" + ticket); err == nil {
		t.Error("a ticket is valid after its token has expired")
	}
	for range maxTicketsOfOne {
		_, _, _ = a.Tickets.Issue(alice, "/", now) // the last ones may be above the limit
	}
	if _, _, ok := a.Tickets.Issue(alice, "/", now); ok {
		t.Error("a ticket above the limit is issued")
	}
	if _, _, ok := a.Tickets.Issue(alice, "/", now.Add(ticketLife)); !ok {
		t.Error("no ticket is issued after the others have expired")
	}
}

// authorities accept the certificates that are not revoked.
type authorities struct {
	generation uint64
	revoked    bool
	asked      int
}

func (a *authorities) Generation() uint64 { return a.generation }
func (a *authorities) VerifyClient([]*x509.Certificate) error {
	if a.asked++; a.revoked {
		return errors.New("revoked")
	}
	return nil
}

func TestCertificates(t *testing.T) {
	from := &authorities{}
	a := New(Sources{Authorities: from})
	r := request(t, "/")
	shown := func(name string, groups ...string) {
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{
			Raw: []byte(name), NotAfter: time.Now().Add(time.Hour), Subject: pkix.Name{CommonName: name, Organization: groups},
		}}}
	}
	shown("alice", "dev", "ops")
	alice, err := a.Authenticate(r)
	if err != nil || alice.Name != "alice" || !slices.Equal(alice.Groups, []string{"dev", "ops", AuthenticatedAll}) {
		t.Fatalf("%+v, %v", alice, err)
	}
	if _, err := a.Authenticate(r); err != nil || from.asked != 1 {
		t.Errorf("%v; asked %d times, want the cached result", err, from.asked)
	}
	if !alice.Holds(time.Now()) || alice.Holds(time.Now().Add(2*time.Hour)) {
		t.Error("the identity does not expire with the certificate")
	}
	from.generation, from.revoked = 1, true
	if _, err := a.Authenticate(r); !errors.Is(err, ErrRefused) || alice.Holds(time.Now()) {
		t.Errorf("after the authorities have changed: %v", err)
	}
	from.generation, from.revoked = 2, false
	if !alice.Holds(time.Now()) {
		t.Error("the identity is not valid after the authorities have changed back")
	}
	for _, name := range []string{"", AnonymousName, "a\tb", strings.Repeat("a", 300)} {
		if shown(name); name != "" {
			r.TLS.PeerCertificates[0].Raw = []byte("x" + name)
		}
		if got, err := a.Authenticate(r); !errors.Is(err, ErrRefused) {
			t.Errorf("a certificate of %q: %+v, %v", name, got, err)
		}
	}
}

// TestAnonymous checks that a request without credentials is anonymous, and that one with invalid credentials is refused.
func TestAnonymous(t *testing.T) {
	a, token, _ := withTokens(t)
	a.Anonymous = true
	if got, err := a.Authenticate(request(t, "/")); err != nil || got.Name != AnonymousName || !slices.Equal(got.Groups, []string{UnauthenticatedAll}) {
		t.Errorf("%+v, %v", got, err)
	}
	for name, r := range map[string]*http.Request{
		"a bad token":  request(t, "/", "Authorization", "Bearer "+token+"x"),
		"a bad ticket": request(t, "/?ticket=x"),
	} {
		if _, err := a.Authenticate(r); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
	if got, err := New(Sources{Anonymous: true}).Authenticate(request(t, "/", "Authorization", "Bearer x")); err != nil || got.Name != AnonymousName {
		t.Errorf("a token without a token file: %v, %v", got, err)
	}
}
