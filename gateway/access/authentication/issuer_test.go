package authentication

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	issuerURL = "https://issuer.example.com/realm"
	audience  = "revtail"
)

// issuer is an OpenID Connect issuer at the other end of an http.Client.
type issuer struct {
	mu      sync.Mutex // guards the fields below
	keys    []any      // of the JWKS
	named   string     // the issuer in its configuration
	at      string     // the URL of the keys in its configuration
	fails   error
	slow    time.Duration
	padding int
	asked   int // number of requests for keys
}

func (i *issuer) RoundTrip(r *http.Request) (*http.Response, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.fails != nil {
		return nil, i.fails
	}
	var answer any
	switch r.URL.String() {
	case issuerURL + "/.well-known/openid-configuration":
		answer = map[string]string{"issuer": i.named, "jwks_uri": i.at}
	case i.at:
		i.asked++
		if i.slow > 0 {
			select {
			case <-time.After(i.slow):
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		}
		answer = map[string]any{"keys": i.keys, "padding": strings.Repeat("x", i.padding)}
	default:
		return &http.Response{StatusCode: http.StatusNotFound, Status: "404", Body: http.NoBody}, nil
	}
	body, err := json.Marshal(answer)
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(body))}, err
}

func (i *issuer) change(f func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	f()
}

func (i *issuer) count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

var (
	rsaKey   = must(rsa.GenerateKey(rand.Reader, 2048))
	otherKey = must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func public(id string, key crypto.Signer) jose.JSONWebKey {
	return jose.JSONWebKey{Key: key.Public(), KeyID: id, Use: "sig"}
}

// claims returns the claims of a valid token.
func claims(change ...func(map[string]any)) map[string]any {
	c := map[string]any{
		"iss": issuerURL, "aud": audience, "sub": "alice", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(),
		"groups": []string{"dev", "system:masters"}, "email": "alice@example.com",
	}
	for _, f := range change {
		f(c)
	}
	return c
}

func sign(tb testing.TB, algorithm jose.SignatureAlgorithm, id string, key any, content map[string]any) string {
	tb.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: id}}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	text, err := json.Marshal(content)
	if err != nil {
		tb.Fatal(err)
	}
	signed, err := signer.Sign(text)
	if err != nil {
		tb.Fatal(err)
	}
	return must(signed.CompactSerialize())
}

// inWorld runs a test with an issuer in a bubble, where time passes when all goroutines wait.
func inWorld(t *testing.T, config IssuerConfig, test func(t *testing.T, i *issuer, a *Authenticator)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{named: issuerURL, at: "https://issuer.example.com/keys", keys: []any{public("one", rsaKey)}}
		config.URL, config.Audience, config.Client = issuerURL, audience, &http.Client{Transport: i}
		accepted := NewIssuer(config, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = accepted.Run(ctx) })
		defer running.Wait()
		defer cancel()
		synctest.Wait()
		test(t, i, New(Sources{Issuer: accepted}))
	})
}

func try(t *testing.T, a *Authenticator, token string) (*Identity, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://revtail/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return a.Authenticate(r)
}

func TestIssuerDeterminesTheIdentity(t *testing.T) {
	for name, tt := range map[string]struct {
		config IssuerConfig
		user   string
		groups []string
	}{
		"by default":    {IssuerConfig{}, "alice", []string{AuthenticatedAll}},
		"with prefixes": {IssuerConfig{UserPrefix: "i:", GroupsClaim: "groups", GroupsPrefix: "i:"}, "i:alice", []string{"i:dev", "i:system:masters", AuthenticatedAll}},
		"an issuer cannot assign a group of Kubernetes": {IssuerConfig{GroupsClaim: "groups"}, "alice", []string{"dev", AuthenticatedAll}},
		"by email": {IssuerConfig{UserClaim: "email", GroupsClaim: "absent"}, "alice@example.com", []string{AuthenticatedAll}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, tt.config, func(t *testing.T, _ *issuer, a *Authenticator) {
				token := sign(t, jose.RS256, "one", rsaKey, claims())
				for range 2 { // the second time from the cache
					got, err := try(t, a, token)
					if err != nil || got.Name != tt.user || !slices.Equal(got.Groups, tt.groups) {
						t.Fatalf("%+v, %v; want %s in %v", got, err, tt.user, tt.groups)
					}
				}
				got, _ := try(t, a, token)
				<-time.After(59 * time.Minute)
				if !got.Holds(time.Now()) {
					t.Error("the identity does not expire with the token")
				}
				<-time.After(2 * time.Minute)
				if got.Holds(time.Now()) {
					t.Error("the identity is valid after the token has expired")
				}
				if _, err := try(t, a, token); !errors.Is(err, ErrRefused) {
					t.Errorf("after the token has expired: %v, want it refused", err)
				}
			})
		})
	}
}

// TestIssuerRefuses checks that invalid and forged tokens are refused.
func TestIssuerRefuses(t *testing.T) {
	inWorld(t, IssuerConfig{}, func(t *testing.T, _ *issuer, a *Authenticator) {
		good := sign(t, jose.RS256, "one", rsaKey, claims())
		if _, err := try(t, a, good); err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(good, ".")
		raw := func(header string) string {
			return base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + parts[1] + "."
		}
		with := func(change func(map[string]any)) string { return sign(t, jose.RS256, "one", rsaKey, claims(change)) }
		publicPEM := must(json.Marshal(public("one", rsaKey)))
		for name, token := range map[string]string{
			"nothing":                    "..",
			"no signature":               raw(`{"alg":"none","kid":"one"}`),
			"no signature, other case":   raw(`{"alg":"None","kid":"one"}`) + parts[2],
			"the public key as a secret": sign(t, jose.HS256, "one", publicPEM, claims()),
			"another key":                sign(t, jose.ES256, "one", otherKey, claims()),
			"an unknown key":             sign(t, jose.ES256, "../../one", otherKey, claims()),
			"another audience":           with(func(c map[string]any) { c["aud"] = "other" }),
			"no audience":                with(func(c map[string]any) { delete(c, "aud") }),
			"another issuer":             with(func(c map[string]any) { c["iss"] = issuerURL + "/" }),
			"expired":                    with(func(c map[string]any) { c["exp"] = time.Now().Add(-time.Second).Unix() }),
			"no expiry":                  with(func(c map[string]any) { delete(c, "exp") }),
			"not yet":                    with(func(c map[string]any) { c["nbf"] = time.Now().Add(time.Hour).Unix() }),
			"no name":                    with(func(c map[string]any) { delete(c, "sub") }),
			"an empty name":              with(func(c map[string]any) { c["sub"] = "" }),
			"a name that is a list":      with(func(c map[string]any) { c["sub"] = []string{"alice"} }),
			"a name with system:":        with(func(c map[string]any) { c["sub"] = "system:admin" }),
			"a name of two lines":        with(func(c map[string]any) { c["sub"] = "a\nb" }),
			"changed":                    parts[0] + "." + base64.RawURLEncoding.EncodeToString(must(json.Marshal(claims(func(c map[string]any) { c["sub"] = "bob" })))) + "." + parts[2],
			"too long":                   good + strings.Repeat("a", maxToken),
			"a million dots":             strings.Repeat(".", 1<<20),
		} {
			if got, err := try(t, a, token); !errors.Is(err, ErrRefused) {
				t.Errorf("%s: %+v, %v; want it refused", name, got, err)
			}
		}
		unverified := func(verified any) string {
			return with(func(c map[string]any) { c["email_verified"] = verified })
		}
		a.Issuer.config.UserClaim = "email"
		if _, err := try(t, a, unverified(false)); !errors.Is(err, ErrRefused) {
			t.Errorf("an email that is not verified: %v", err)
		}
		if got, err := try(t, a, unverified(true)); err != nil || got.Name != "alice@example.com" {
			t.Errorf("an email that is verified: %v, %v", got, err)
		}
	})
}

// TestIssuerRotatesKeys checks that a new key is valid at once, that a withdrawn key is soon invalid, and that tokens with unknown keys do
// not make the gateway ask the issuer often.
func TestIssuerRotatesKeys(t *testing.T) {
	inWorld(t, IssuerConfig{}, func(t *testing.T, i *issuer, a *Authenticator) {
		<-time.After(keysPause)
		i.change(func() { i.keys = []any{public("two", otherKey), map[string]string{"kty": "future"}} })
		if _, err := try(t, a, sign(t, jose.ES256, "two", otherKey, claims())); err != nil {
			t.Errorf("the new key: %v", err)
		}
		if _, err := try(t, a, sign(t, jose.RS256, "one", rsaKey, claims())); !errors.Is(err, ErrRefused) {
			t.Errorf("the withdrawn key: %v, want it refused", err)
		}

		before, began := i.count(), time.Now()
		for n := range 200 {
			_, _ = try(t, a, sign(t, jose.RS256, "unknown", rsaKey, claims(func(c map[string]any) { c["n"] = n })))
			<-time.After(time.Second / 2)
		}
		if fetched, most := i.count()-before, int(time.Since(began)/keysPause)+1; fetched > most {
			t.Errorf("the issuer was asked %d times, want at most %d", fetched, most)
		}

		i.change(func() { i.keys = []any{public("one", rsaKey)} })
		<-time.After(keysAge + tokenTrust)
		if _, err := try(t, a, sign(t, jose.ES256, "two", otherKey, claims())); !errors.Is(err, ErrRefused) {
			t.Errorf("a key that was withdrawn while no token was checked: %v, want it refused", err)
		}
	})
}

// TestIssuerFailsClosed checks that no token is accepted without keys, and that earlier keys are used for a limited time.
func TestIssuerFailsClosed(t *testing.T) {
	inWorld(t, IssuerConfig{}, func(t *testing.T, i *issuer, a *Authenticator) {
		fresh := func() string {
			return sign(t, jose.RS256, "one", rsaKey, claims(func(c map[string]any) { c["jti"] = time.Now().UnixNano() }))
		}
		refuse := func(name string, change func()) {
			t.Helper()
			i.change(change)
			<-time.After(keysLimit + keysAge)
			began := time.Now()
			if _, err := try(t, a, fresh()); !errors.Is(err, ErrRefused) {
				t.Errorf("%s: %v, want it refused", name, err)
			}
			if took := time.Since(began); took > fetchTimeout {
				t.Errorf("%s: refused after %v", name, took)
			}
			i.change(func() {
				i.fails, i.named, i.slow, i.padding, i.at = nil, issuerURL, 0, 0, "https://issuer.example.com/keys"
			})
			<-time.After(keysAge)
			if _, err := try(t, a, fresh()); err != nil {
				t.Errorf("after %s: %v", name, err)
			}
		}
		i.change(func() { i.fails = errors.New("down") })
		<-time.After(keysLimit / 2)
		if _, err := try(t, a, fresh()); err != nil {
			t.Errorf("with keys of half an hour ago: %v", err)
		}
		refuse("an issuer that is down", func() { i.fails = errors.New("down") })
		refuse("one that calls itself otherwise", func() { i.named = "https://evil.example.com" })
		refuse("keys in the clear", func() { i.at = "http://issuer.example.com/keys" })
		refuse("keys that take too long", func() { i.slow = time.Minute })
		refuse("keys without end", func() { i.padding = maxDocument })
	})
}
