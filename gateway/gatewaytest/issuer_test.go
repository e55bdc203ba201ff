package gatewaytest_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"revtail/gateway/gatewaytest"
)

// issuer is an OpenID Connect issuer with one key at a time.
type issuer struct {
	*httptest.Server

	mu  sync.Mutex // guards the field below
	key jose.JSONWebKey
}

func startIssuer(t *testing.T, authority *gatewaytest.Authority) *issuer {
	t.Helper()
	i := &issuer{}
	i.renew(t, "first")
	answer := func(w http.ResponseWriter, v any) {
		if err := json.NewEncoder(w).Encode(v); err != nil {
			t.Error(err)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]string{"issuer": i.URL, "jwks_uri": i.URL + "/keys"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		key := i.current()
		answer(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{key.Public()}})
	})
	i.Server = httptest.NewUnstartedServer(mux)
	i.TLS = &tls.Config{Certificates: []tls.Certificate{authority.Issue(t, "issuer").TLS(t)}}
	i.Config.ErrorLog = log.New(io.Discard, "", 0) // errors of a gateway that does not trust it
	i.StartTLS()
	t.Cleanup(i.Close)
	return i
}

// renew replaces the key of the issuer.
func (i *issuer) renew(t *testing.T, id string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.key = jose.JSONWebKey{Key: key, KeyID: id, Algorithm: string(jose.ES256), Use: "sig"}
}

func (i *issuer) current() jose.JSONWebKey {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.key
}

// token returns a new token of alice.
func (i *issuer) token(t *testing.T) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: i.current()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	claims, err := json.Marshal(map[string]any{
		"iss": i.URL, "aud": "revtail", "sub": "alice", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "jti": now.UnixNano(),
	})
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(claims)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// TestIssuerAuthorityChanges checks that the authorities for the issuer are replaced while the gateway runs, and that a file without
// authorities changes nothing.
func TestIssuerAuthorityChanges(t *testing.T) {
	t.Parallel()
	authority := gatewaytest.NewAuthority(t, "issuers")
	issuer := startIssuer(t, authority)
	file := secretFile(t, string(gatewaytest.NewAuthority(t, "others").PEM))
	gw := gatewaytest.Start(t, "--oidc-issuer-url", issuer.URL, "--oidc-client-id", "revtail", "--oidc-ca-file", file)
	said := func(what string) func() bool {
		return func() bool { return strings.Contains(gw.Log(t), what) }
	}
	code := func() int { return gw.As(issuer.token(t)).Do(t, http.MethodGet, configMaps, "").Code }
	accepted := func() bool { return code() == http.StatusOK }

	gatewaytest.Until(t, "a word about the wrong authority", said("certificate signed by unknown authority"))
	if got := code(); got != http.StatusUnauthorized {
		t.Errorf("with an untrusted issuer: %d", got)
	}
	replaceFile(t, file, authority.PEM)
	gatewaytest.Until(t, "alice's token", accepted)

	replaceFile(t, file, []byte("no certificate"))
	gw.Hangup(t)
	gatewaytest.Until(t, "a word about the bad file", said("no certificate in this file"))
	issuer.renew(t, "second") // which the gateway requests over a connection of its own
	issuer.CloseClientConnections()
	gatewaytest.Until(t, "a token with the new key", accepted)
}
