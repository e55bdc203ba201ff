package authentication

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"revtail/gateway/config/reload"
)

// FuzzAuthenticate checks that a request is alice's only if it has her whole token or ticket in its place, that it is anonymous only if it
// has no credential, and that every refusal is ErrRefused.
func FuzzAuthenticate(f *testing.F) {
	const token = "the token of alice" // of 3n bytes, so that its base64 has no rest
	encoded := bearerProtocol + base64.RawURLEncoding.EncodeToString([]byte(token))
	for _, seed := range [][4]string{
		{"Bearer " + token}, {" bEARER  " + token + " "}, {"Bearer " + token[1:]}, {"Bearer"}, {"Basic " + token},
		{"", "websocket", "v1, " + encoded}, {"", "websocket", encoded + "*"}, {"", "websocket", encoded + "A"}, {"", "h2c", encoded},
		{"", "websocket", bearerProtocol + "_w"}, {"", "", "", "ticket=TICKET"}, {"", "", "", "x=1&t%69cket=TICKET&ticket="}, {"", "", "", "ticket=&ticket=TICKET"},
		{"Bearer " + token, "", "", "ticket=no"}, {"Bearer x", "", "", "access_token=" + token},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], true)
		f.Add(seed[0], seed[1], seed[2], seed[3], false)
	}
	name := filepath.Join(f.TempDir(), "tokens.yaml")
	if err := os.WriteFile(name, []byte("apiVersion: revtail/v1\ntokens: [{user: alice, sha256: "+digestOf(token)+"}]\n"), 0o600); err != nil {
		f.Fatal(err)
	}
	file, err := reload.Open("--token-file", name, ParseTokens, slog.New(slog.DiscardHandler))
	if err != nil {
		f.Fatal(err)
	}
	alice := &Identity{Name: "alice"}
	f.Fuzz(func(t *testing.T, authorization, upgrade, protocol, query string, anonymous bool) {
		a := New(Sources{Tokens: file, Anonymous: anonymous})
		ticket, _, _ := a.Tickets.Issue(alice, "/", time.Now())
		r := request(t, "/", "Authorization", authorization, "Upgrade", upgrade, "Sec-Websocket-Protocol", protocol)
		r.URL.RawQuery = strings.ReplaceAll(query, "TICKET", ticket)
		identity, err := a.Authenticate(r)
		if err != nil {
			if !errors.Is(err, ErrRefused) || identity != nil {
				t.Errorf("%v: %v, %v", r, identity, err)
			}
			return
		}
		scheme, shown, _ := strings.Cut(strings.TrimSpace(authorization), " ")
		isBearer := strings.EqualFold(scheme, "Bearer") && strings.TrimSpace(shown) != ""
		socket := strings.Contains(strings.ToLower(upgrade), "websocket")
		tickets, hasTicket := r.URL.Query()["ticket"]
		switch identity.Name {
		case "alice":
			if !(hasTicket && tickets[0] == ticket) && !(isBearer && strings.TrimSpace(shown) == token) && !(socket && hasProtocol(protocol, func(p string) bool { return p == encoded })) {
				t.Errorf("%q %q %q %q is the request of alice", authorization, upgrade, protocol, query)
			}
		case AnonymousName:
			if !anonymous || hasTicket || isBearer || upgrade == "websocket" && hasProtocol(protocol, func(p string) bool { return strings.HasPrefix(p, bearerProtocol) }) {
				t.Errorf("%q %q %q %q is anonymous", authorization, upgrade, protocol, query)
			}
		default:
			t.Errorf("%q %q %q %q is the request of %s", authorization, upgrade, protocol, query, identity.Name)
		}
		if again, err := a.Authenticate(request(t, "/?ticket="+url.QueryEscape(ticket))); hasTicket && err == nil {
			t.Errorf("%q: the ticket is valid again, for %s", query, again.Name)
		}
	})
}

func hasProtocol(header string, is func(string) bool) bool {
	for protocol := range strings.SplitSeq(header, ",") {
		if is(strings.TrimSpace(protocol)) {
			return true
		}
	}
	return false
}

// FuzzIssuerToken checks that the only token that is accepted is the one that the issuer has signed: with no other header, payload, or
// signature of those that a stranger can make, among them one with the public key as a shared secret.
func FuzzIssuerToken(f *testing.F) {
	issuer := NewIssuer(IssuerConfig{URL: issuerURL, Audience: audience}, slog.New(slog.DiscardHandler))
	issuer.keys.known, issuer.keys.fetched, issuer.keys.last = []jose.JSONWebKey{public("one", rsaKey), public("two", otherKey)}, time.Now(), time.Now()

	genuine := strings.Split(sign(f, jose.RS256, "one", rsaKey, claims()), ".")
	foreign := strings.Split(sign(f, jose.ES256, "two", otherKey, claims(func(c map[string]any) { c["aud"] = "another" })), ".")
	if _, err := issuer.check(f.Context(), strings.Join(genuine, ".")); err != nil {
		f.Fatal(err)
	}
	decode := func(part string) []byte { return must(base64.RawURLEncoding.DecodeString(part)) }
	public := must(x509.MarshalPKIXPublicKey(rsaKey.Public()))
	payload := decode(genuine[1])
	for _, header := range []string{`{"alg":"RS256","kid":"one"}`, `{"alg":"none"}`, `{"alg":"HS256","kid":"one"}`, `{"alg":"ES256","kid":"two"}`, `{"alg":"RS256"}`,
		`{"alg":"RS256","crit":["exp"]}`, `{"alg":"RS256","jwk":{"kty":"oct","k":"AA"}}`, `{"alg":"RS256","alg":"none"}`} {
		for kind := range byte(5) {
			f.Add([]byte(header), payload, []byte("x"), kind)
		}
	}
	f.Fuzz(func(t *testing.T, header, content, signature []byte, kind byte) {
		signed := base64.RawURLEncoding.EncodeToString(header) + "." + base64.RawURLEncoding.EncodeToString(content)
		switch kind % 5 {
		case 0:
			signature = decode(genuine[2])
		case 1:
			mac := hmac.New(sha256.New, public)
			mac.Write([]byte(signed))
			signature = mac.Sum(nil)
		case 2:
			signature = nil
		case 3:
			signature = decode(foreign[2])
		}
		token := signed + "." + base64.RawURLEncoding.EncodeToString(signature)
		identity, err := issuer.check(t.Context(), token)
		if err == nil && (signed != genuine[0]+"."+genuine[1] || !bytes.Equal(signature, decode(genuine[2]))) {
			t.Errorf("%s with the payload %s is a token of %s", header, content, identity.Name)
		}
	})
}
