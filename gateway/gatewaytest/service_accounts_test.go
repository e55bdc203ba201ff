package gatewaytest_test

import (
	"crypto"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	authenticationv1 "k8s.io/api/authentication/v1"

	"revtail/gateway/gatewaytest"
)

const (
	revtailIssuer  = "https://revtail.example.com"
	clusterIssuer  = "https://kubernetes.default.svc" // the audience of a kube-apiserver
	accounts       = "/api/v1/namespaces/default/serviceaccounts"
	serviceAccount = `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":%q}}`
)

// bindGroup gives a group a ClusterRole in all namespaces.
func bindGroup(group, role string) string {
	return strings.Replace(bind(group, role), "kind: User", "kind: Group", 1)
}

// signingKey writes a new key for tokens of service accounts, and returns the file.
func signingKey(t *testing.T) string {
	t.Helper()
	_, key := gatewaytest.NewAuthority(t, "keys").Issue(t, "key").Write(t, t.TempDir(), "sa")
	return key
}

// tokenFor returns a token of a service account. members are those of the spec.
func tokenFor(t *testing.T, gw *gatewaytest.Gateway, name, members string) string {
	t.Helper()
	answer := gw.Do(t, http.MethodPost, accounts+"/"+name+"/token", `{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","spec":{`+members+`}}`)
	var got authenticationv1.TokenRequest
	if err := json.Unmarshal([]byte(answer.Body), &got); err != nil || answer.Code != http.StatusCreated || got.Status.Token == "" {
		t.Fatalf("%d %s", answer.Code, answer.Body)
	}
	if cache := answer.Header.Get("Cache-Control"); cache != "no-store" {
		t.Errorf("Cache-Control of a token: %q", cache)
	}
	return got.Status.Token
}

// TestServiceAccountTokens checks that the policy knows the users of tokens, and that a token and its watches end with what it is bound to.
func TestServiceAccountTokens(t *testing.T) {
	t.Parallel()
	key := signingKey(t)
	g := startGuarded(t, false, []string{"root", "bob"}, bind("root", "cluster-admin")+role("reader", reader)+bindGroup("system:serviceaccounts:default", "reader"),
		"--service-account-issuer", revtailIssuer, "--service-account-signing-key-file", key)
	root := g.user("root")
	for _, name := range []string{"app", "other"} {
		root.Create(t, accounts, fmt.Sprintf(serviceAccount, name))
	}
	const pods, secrets = "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/secrets"
	root.Create(t, pods, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"serviceAccountName":"app","containers":[{"name":"c","image":"i"}]}}`)
	root.Create(t, secrets, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}`)
	if answer := g.user("bob").Do(t, http.MethodPost, accounts+"/app/token", "{}"); answer.Code != http.StatusForbidden || !strings.Contains(answer.Body, "cannot create resource \\\"serviceaccounts/token") {
		t.Errorf("without the right to tokens: %d %s", answer.Code, answer.Body)
	}
	bindTo := func(kind, name string) string {
		return `"boundObjectRef":{"apiVersion":"v1","kind":"` + kind + `","name":"` + name + `"}`
	}
	account, pod, secret, other := tokenFor(t, root, "app", ""), tokenFor(t, root, "app", bindTo("Pod", "p")), tokenFor(t, root, "app", bindTo("Secret", "s")), tokenFor(t, root, "other", "")
	watches := make(map[string]*gatewaytest.Watch)
	for _, token := range []string{account, pod, secret, other} {
		watches[token] = g.As(token).Watch(t, configMaps+"?watch=1")
	}
	if answer := g.As(account).Do(t, http.MethodGet, secrets, ""); answer.Code != http.StatusForbidden ||
		!strings.Contains(answer.Body, `User \"system:serviceaccount:default:app\" cannot list resource \"secrets\"`) {
		t.Errorf("what the policy does not allow: %d %s", answer.Code, answer.Body)
	}
	if answer := g.As(tokenFor(t, root, "app", `"audiences":["elsewhere"]`)).Do(t, http.MethodGet, configMaps, ""); answer.Code != http.StatusUnauthorized {
		t.Errorf("a token for another server: %d", answer.Code)
	}
	wantUnauthorized := func(token string) {
		t.Helper()
		wantEnd(t, watches[token], http.StatusUnauthorized, "Unauthorized")
		if answer := g.As(token).Do(t, http.MethodGet, configMaps, ""); answer.Code != http.StatusUnauthorized {
			t.Errorf("%d, want 401", answer.Code)
		}
	}
	root.Delete(t, pods+"/p?gracePeriodSeconds=0")
	wantUnauthorized(pod)
	root.Delete(t, secrets+"/s")
	root.Create(t, secrets, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}`)
	wantUnauthorized(secret)
	root.Delete(t, accounts+"/app")
	root.Create(t, accounts, fmt.Sprintf(serviceAccount, "app"))
	wantUnauthorized(account)

	g.Stop(t)
	g.Restart(t)
	if answer := g.As(other).Do(t, http.MethodGet, configMaps, ""); answer.Code != http.StatusOK {
		t.Errorf("after a restart with the same key: %d %s", answer.Code, answer.Body)
	}
	replaced, err := os.ReadFile(signingKey(t))
	if err != nil {
		t.Fatal(err)
	}
	watches[other] = g.As(other).Watch(t, configMaps+"?watch=1")
	replaceFile(t, key, replaced)
	g.Hangup(t)
	wantUnauthorized(other)
}

// TestIssuerDiscovery checks that another program verifies a token with the documents of the issuer.
func TestIssuerDiscovery(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t, "--service-account-issuer", revtailIssuer, "--service-account-signing-key-file", signingKey(t))
	gw.Create(t, accounts, fmt.Sprintf(serviceAccount, "app"))
	var configuration struct {
		Issuer     string   `json:"issuer"`
		Keys       string   `json:"jwks_uri"`
		Algorithms []string `json:"id_token_signing_alg_values_supported"`
	}
	answer := gw.Do(t, http.MethodGet, "/.well-known/openid-configuration", "")
	if err := json.Unmarshal([]byte(answer.Body), &configuration); err != nil || configuration.Issuer != revtailIssuer || configuration.Keys != revtailIssuer+"/openid/v1/jwks" {
		t.Fatalf("%d %s", answer.Code, answer.Body)
	}
	var keys jose.JSONWebKeySet
	answer = gw.Do(t, http.MethodGet, "/openid/v1/jwks", "")
	if err := json.Unmarshal([]byte(answer.Body), &keys); err != nil || len(keys.Keys) != 1 || answer.Header.Get("Content-Type") != "application/jwk-set+json" {
		t.Fatalf("%d %v %s", answer.Code, answer.Header, answer.Body)
	}
	verifier := oidc.NewVerifier(revtailIssuer, &oidc.StaticKeySet{PublicKeys: []crypto.PublicKey{keys.Keys[0].Key}}, &oidc.Config{ClientID: "shop", SupportedSigningAlgs: configuration.Algorithms})
	token, err := verifier.Verify(t.Context(), tokenFor(t, gw, "app", `"audiences":["shop"]`))
	if err != nil || token.Subject != "system:serviceaccount:default:app" {
		t.Errorf("%v: %+v", err, token)
	}
}

// webhookConfig writes a kubeconfig that points to one URL of a gateway, with a user's token.
func (g *guarded) webhookConfig(t *testing.T, user, path string) string {
	t.Helper()
	return secretFile(t, fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: %q, certificate-authority: %q}}], users: [{name: u, user: {token: %q}}]}`, g.URL+path, g.ca, "token-of-"+user))
}

// TestDelegation has a kube-apiserver ask a gateway who its users are, and what they may do.
func TestDelegation(t *testing.T) {
	t.Parallel()
	g := startGuarded(t, true, []string{"root", "kube-apiserver", "alice", "bob"},
		bind("root", "cluster-admin")+bind("kube-apiserver", "system:auth-delegator")+role("reader", reader)+bindInA("alice", "reader")+bindGroup("system:serviceaccounts", "reader"),
		"--service-account-issuer", revtailIssuer, "--service-account-signing-key-file", signingKey(t), "--api-audiences", revtailIssuer+","+clusterIssuer)
	etcd := gatewaytest.StartEtcd(t, 1)
	server := gatewaytest.StartKubeAPIServer(t, etcd.Endpoints(), "--authorization-mode", "Webhook",
		"--authorization-webhook-version", "v1", "--authorization-webhook-config-file", g.webhookConfig(t, "kube-apiserver", "/apis/authorization.k8s.io/v1/subjectaccessreviews"),
		"--authentication-token-webhook-version", "v1", "--authentication-token-webhook-config-file", g.webhookConfig(t, "kube-apiserver", "/apis/authentication.k8s.io/v1/tokenreviews"))
	root := g.user("root")
	root.Create(t, accounts, fmt.Sprintf(serviceAccount, "app"))
	for _, tt := range []struct {
		name, token, namespace string
		code                   int
	}{
		{"allowed", "token-of-alice", "a", http.StatusOK},
		{"another namespace", "token-of-alice", "b", http.StatusForbidden},
		{"another user", "token-of-bob", "a", http.StatusForbidden},
		{"an unknown token", "unknown-token", "a", http.StatusUnauthorized},
		{"a service account", tokenFor(t, root, "app", `"audiences":["`+clusterIssuer+`"]`), "b", http.StatusOK},
		{"a service account at the gateway only", tokenFor(t, root, "app", `"audiences":["`+revtailIssuer+`"]`), "b", http.StatusUnauthorized},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+maps(tt.namespace), nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+tt.token)
		response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: server.TLS}}).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if _ = response.Body.Close(); response.StatusCode != tt.code { // only the code matters
			t.Errorf("%s: %d, want %d", tt.name, response.StatusCode, tt.code)
		}
	}
	for path, kind := range map[string]string{"authentication.k8s.io/v1/tokenreviews": "TokenReview", "authorization.k8s.io/v1/subjectaccessreviews": "SubjectAccessReview"} {
		group, _, _ := strings.Cut(path, "/")
		if answer := g.user("alice").Do(t, http.MethodPost, "/apis/"+path, fmt.Sprintf(`{"kind":%q,"apiVersion":"%s/v1"}`, kind, group)); answer.Code != http.StatusForbidden {
			t.Errorf("%s by a user without the right: %d %s", kind, answer.Code, answer.Body)
		}
	}
}
