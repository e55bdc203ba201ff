package serviceaccount

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"revtail/gateway/access/authentication"
	"revtail/gateway/config/reload"
)

const issuerURL = "https://revtail.example.com"

// objects are documents by plural, namespace and name. Some are not in memory yet.
type objects struct {
	documents map[string]string
	unknown   map[string]bool
	reads     int // from etcd
	err       error
}

func (o *objects) Find(_ context.Context, plural, namespace, name string, fresh bool) ([]byte, int64, error) {
	key := plural + " " + namespace + " " + name
	if fresh {
		if o.reads++; o.err != nil {
			return nil, 0, o.err
		}
	}
	if document, ok := o.documents[key]; ok && (fresh || !o.unknown[key]) {
		return []byte(document), int64(len(document)), nil
	}
	return nil, 0, nil
}

func withUID(uid string) string { return `{"metadata":{"uid":"` + uid + `"}}` }

func standing() *objects {
	return &objects{documents: map[string]string{
		"serviceaccounts a app": withUID("1"), "pods a p": withUID("2"), "secrets a s": withUID("3"), "nodes  n": withUID("4"),
	}, unknown: map[string]bool{}}
}

func pemOf(tb testing.TB, key any) []byte {
	tb.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func newKey(tb testing.TB, curve elliptic.Curve) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

// newIssuer returns an issuer that signs with a key, and the file of the key.
func newIssuer(tb testing.TB, key any, o Objects) (*Issuer, string) {
	tb.Helper()
	name := filepath.Join(tb.TempDir(), "key.pem")
	if err := os.WriteFile(name, pemOf(tb, key), 0o600); err != nil {
		tb.Fatal(err)
	}
	file, err := reload.Open("--service-account-signing-key-file", name, func(content []byte) (*Keys, error) { return ParseKeys(content) }, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	i := New(Config{Issuers: []string{issuerURL, "old"}, Audiences: []string{"revtail"}, Keys: file})
	i.Open(o)
	return i, name
}

func grant(change ...func(*Grant)) Grant {
	now := time.Now()
	g := Grant{Namespace: "a", ServiceAccount: Reference{"app", "1"}, Audiences: []string{"revtail", "other"}, Begin: now, End: now.Add(time.Hour)}
	for _, c := range change {
		c(&g)
	}
	return g
}

func issue(tb testing.TB, i *Issuer, change ...func(*Grant)) string {
	tb.Helper()
	text, err := i.Issue(grant(change...))
	if err != nil || !i.Issued(text) {
		tb.Fatalf("%v: %s", err, text)
	}
	return text
}

func TestIssue(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, minimumRSA)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []crypto.Signer{rsaKey, newKey(t, elliptic.P256()), newKey(t, elliptic.P384()), newKey(t, elliptic.P521())} {
		i, _ := newIssuer(t, key, standing())
		text := issue(t, i, func(g *Grant) { g.Pod, g.Node = &Reference{"p", "2"}, &Reference{Name: "n"} })
		identity, audiences, err := i.Authenticate(t.Context(), text, nil)
		if err != nil {
			t.Errorf("%T: %v", key, err)
			continue
		}
		if diff := cmp.Diff([]string{"revtail"}, audiences); diff != "" || identity.Name != "system:serviceaccount:a:app" || identity.UID != "1" {
			t.Errorf("%+v, %v", identity, audiences)
		}
		if diff := cmp.Diff([]string{"system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated"}, identity.Groups); diff != "" {
			t.Errorf("groups (-want +got):\n%s", diff)
		}
		id := identity.Extra["authentication.kubernetes.io/credential-id"]
		delete(identity.Extra, "authentication.kubernetes.io/credential-id")
		want := map[string][]string{"authentication.kubernetes.io/pod-name": {"p"}, "authentication.kubernetes.io/pod-uid": {"2"}, "authentication.kubernetes.io/node-name": {"n"}}
		if diff := cmp.Diff(want, identity.Extra); diff != "" || len(id) != 1 || !strings.HasPrefix(id[0], "JTI=") {
			t.Errorf("extra %q (-want +got):\n%s", id, diff)
		}
	}
}

func TestRefuse(t *testing.T) {
	i, _ := newIssuer(t, newKey(t, elliptic.P256()), standing())
	other, _ := newIssuer(t, newKey(t, elliptic.P256()), standing())
	i.objects.(*objects).documents["serviceaccounts a old"] = `{"metadata":{"uid":"5","deletionTimestamp":"2001-01-01T00:00:00Z"}}`
	good := issue(t, i)
	parts := strings.Split(good, ".")
	for name, tt := range map[string]struct{ token, reason string }{
		"another key":                 {issue(t, other), "signature"},
		"a changed signature":         {parts[0] + "." + parts[1] + "." + strings.Repeat("A", len(parts[2])), "signature"},
		"expired":                     {issue(t, i, func(g *Grant) { g.End = g.Begin.Add(-time.Second) }), "has expired"},
		"not yet valid":               {issue(t, i, func(g *Grant) { g.Begin = g.Begin.Add(time.Hour) }), "not valid yet"},
		"another audience":            {issue(t, i, func(g *Grant) { g.Audiences = []string{"other"} }), `audiences ["other"]`},
		"no audience":                 {issue(t, i, func(g *Grant) { g.Audiences = []string{} }), "audiences []"},
		"no service account":          {issue(t, i, func(g *Grant) { g.ServiceAccount.Name = "no" }), "invalidated"},
		"a recreated service account": {issue(t, i, func(g *Grant) { g.ServiceAccount.UID = "0" }), "invalidated"},
		"a deleted service account":   {issue(t, i, func(g *Grant) { g.ServiceAccount = Reference{"old", "5"} }), "invalidated"},
		"another namespace":           {issue(t, i, func(g *Grant) { g.Namespace = "b" }), "invalidated"},
		"no pod":                      {issue(t, i, func(g *Grant) { g.Pod = &Reference{"no", "2"} }), "invalidated"},
		"a recreated pod":             {issue(t, i, func(g *Grant) { g.Pod = &Reference{"p", "0"} }), "invalidated"},
		"a recreated secret":          {issue(t, i, func(g *Grant) { g.Secret = &Reference{"s", "0"} }), "invalidated"},
		"a recreated node":            {issue(t, i, func(g *Grant) { g.Node = &Reference{"n", "0"} }), "invalidated"},
		"no uid":                      {issue(t, i, func(g *Grant) { g.ServiceAccount.UID = "" }), "lacks a claim"},
	} {
		for range 2 { // the second time from the cache
			identity, audiences, err := i.Authenticate(t.Context(), tt.token, nil)
			if err == nil || !strings.Contains(err.Error(), tt.reason) || !errors.Is(err, authentication.ErrRefused) || identity != nil || audiences != nil {
				t.Errorf("%s: %v, %v, want %q", name, identity, err, tt.reason)
			}
		}
	}
	if _, audiences, err := i.Authenticate(t.Context(), issue(t, i, func(g *Grant) { g.Audiences = []string{"other"} }), []string{"x", "other"}); err != nil || len(audiences) != 1 {
		t.Errorf("reviewed for its audience: %v, %v", audiences, err)
	}
	for _, text := range []string{"", "x", "a.b.c", strings.Replace(good, ".", "", 1), sign(t, i, `{"iss":"https://elsewhere"}`), sign(t, i, `{}`)} {
		if i.Issued(text) {
			t.Errorf("issued: %s", text)
		}
	}
	if _, _, err := i.Authenticate(t.Context(), sign(t, i, `{"iss":"`+issuerURL+`","aud":"revtail","sub":"system:serviceaccount:a:root","exp":4000000000,`+
		`"kubernetes.io":{"namespace":"a","serviceaccount":{"name":"app","uid":"1"}}}`), nil); err == nil {
		t.Error("a token of another subject than of its service account is accepted")
	}
}

// sign signs any claims with the key of an issuer.
func sign(tb testing.TB, i *Issuer, claims string) string {
	tb.Helper()
	signed, err := i.Keys.Get().signer.Sign([]byte(claims))
	if err != nil {
		tb.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// TestRevoke checks that the identity of a token ends with its objects, that an object which is not yet in memory is read from etcd, and that etcd is
// asked once for one that is gone.
func TestRevoke(t *testing.T) {
	o := standing()
	i, _ := newIssuer(t, newKey(t, elliptic.P256()), o)
	text := issue(t, i, func(g *Grant) { g.Secret = &Reference{"s", "3"} })
	o.unknown["serviceaccounts a app"] = true
	identity, _, err := i.Authenticate(t.Context(), text, nil)
	if err != nil || !identity.Holds(time.Now()) || !identity.MayHaveEnded(time.Now()) || o.reads == 0 {
		t.Fatalf("an object that is not in memory: %v, %d reads", err, o.reads)
	}
	delete(o.unknown, "serviceaccounts a app")
	o.reads = 0
	if !identity.Holds(time.Now()) || o.reads != 0 {
		t.Errorf("objects in memory: %d reads", o.reads)
	}
	delete(o.documents, "secrets a s")
	o.err = errors.New("no quorum")
	if identity.Holds(time.Now()) {
		t.Error("the token holds although its secret is gone from memory, and etcd does not answer")
	}
	o.err, o.documents["secrets a s"] = nil, withUID("3")
	if !identity.Holds(time.Now()) {
		t.Error("a failed read has revoked the token")
	}
	o.documents["secrets a s"], o.reads = withUID("99"), 0
	for range 3 {
		if _, _, err := i.Authenticate(t.Context(), text, nil); err == nil || identity.Holds(time.Now()) {
			t.Error("the token holds although its secret has another uid")
		}
	}
	if o.reads != 1 {
		t.Errorf("%d reads of an object that is gone, want 1", o.reads)
	}
	dying := standing()
	dying.documents["pods a p"] = fmt.Sprintf(`{"metadata":{"uid":"2","deletionTimestamp":%q}}`, time.Now().UTC().Format(time.RFC3339))
	i.Open(dying)
	if _, _, err := i.Authenticate(t.Context(), issue(t, i, func(g *Grant) { g.Pod = &Reference{"p", "2"} }), nil); err != nil {
		t.Errorf("a pod that is being deleted needs its token: %v", err)
	}
}

// TestRotate checks that a token is valid as long as its key is there.
func TestRotate(t *testing.T) {
	first, second := newKey(t, elliptic.P256()), newKey(t, elliptic.P384())
	i, name := newIssuer(t, first, standing())
	text := issue(t, i)
	identity, _, err := i.Authenticate(t.Context(), text, nil)
	if err != nil {
		t.Fatal(err)
	}
	generation := i.Generation()
	if err := os.WriteFile(name, pemOf(t, second), 0o600); err != nil {
		t.Fatal(err)
	}
	i.Keys.Reload()
	if _, _, err := i.Authenticate(t.Context(), text, nil); err == nil || identity.Holds(time.Now()) || i.Generation() == generation {
		t.Error("a token of a withdrawn key is valid")
	}
	keys, err := ParseKeys(pemOf(t, second), pemOf(t, first), pemOf(t, second))
	if err != nil || len(keys.public) != 2 || keys.public[0].Algorithm != "ES384" {
		t.Errorf("%v: %+v", err, keys)
	}
}

func TestParseKeysRefuses(t *testing.T) {
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"no PEM": []byte("key"), "a small key": pemOf(t, small), "a small curve": pemOf(t, newKey(t, elliptic.P224())), "no key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY"}),
	} {
		if _, err := ParseKeys(content); err == nil || !strings.HasPrefix(err.Error(), "--service-account-signing-key-file: ") {
			t.Errorf("%s to sign: %v", name, err)
		}
		if _, err := ParseKeys(nil, content); err == nil || !strings.HasPrefix(err.Error(), "--service-account-key-file: ") {
			t.Errorf("%s to verify: %v", name, err)
		}
	}
}

// FuzzAuthenticate checks that a token is accepted only if the issuer has signed exactly its header and its claims, and every refusal is ErrRefused.
func FuzzAuthenticate(f *testing.F) {
	i, _ := newIssuer(f, newKey(f, elliptic.P256()), standing())
	good := issue(f, i)
	parts := strings.Split(good, ".")
	f.Add(good)
	f.Add("")
	f.Add(parts[0] + "." + parts[1] + ".")
	f.Add("eyJhbGciOiJub25lIn0." + parts[1] + ".")
	f.Add(good + "=")
	f.Add(`{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`)
	f.Fuzz(func(t *testing.T, text string) {
		issued := i.Issued(text)
		identity, _, err := i.Authenticate(t.Context(), text, nil)
		switch {
		case err != nil && (identity != nil || !errors.Is(err, authentication.ErrRefused)):
			t.Errorf("%q: %v, %v", text, identity, err)
		case err == nil && (!issued || !strings.HasPrefix(text, parts[0]+"."+parts[1]+".") || identity.Name != "system:serviceaccount:a:app"):
			t.Errorf("%q is accepted", text)
		}
	})
}

func FuzzParseKeys(f *testing.F) {
	key := newKey(f, elliptic.P256())
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(pemOf(f, key))
	f.Add(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		if keys, err := ParseKeys(content); err == nil && (keys.signer == nil || len(keys.public) != 1) {
			t.Errorf("%q: %+v", content, keys)
		}
		keys, err := ParseKeys(nil, content)
		if err != nil {
			return
		}
		text, err := json.Marshal(jose.JSONWebKeySet{Keys: keys.public})
		if err != nil || keys.signer != nil || len(keys.public) == 0 || strings.Contains(string(text), `"d":`) {
			t.Errorf("%q: %v %s", content, err, text)
		}
	})
}
