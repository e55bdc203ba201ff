package delegated

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"

	"revtail/gateway/access"
	"revtail/gateway/access/authentication"
	"revtail/gateway/access/authorization"
)

// decider is a kube-apiserver with one rule: those in the group readers may do everything, and others may list configmaps with the selectors
// a=b, x=y.
type decider struct {
	code     atomic.Int64  // HTTP code of every answer; zero: answers have a decision
	tokens   atomic.Int64  // the TokenReviews
	subjects atomic.Int64  // the SubjectAccessReviews
	admin    atomic.Bool   // users of tokens are also in the group admins
	denies   atomic.Bool   // it denies every request, and refuses every token
	readyz   atomic.Int64  // HTTP code of /readyz; zero: 200
	hold     chan struct{} // if not nil, SubjectAccessReviews wait until it is closed. Set before the first one

	mu   sync.Mutex // guards the field below
	last authorizationv1.SubjectAccessReviewSpec
}

func (d *decider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if code := d.code.Load(); code != 0 {
		w.WriteHeader(int(code))
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "code": code, "reason": "Forbidden"}) // the client sees that it is missing
		return
	}
	var answer any
	switch r.URL.Path {
	case "/readyz":
		if code := d.readyz.Load(); code != 0 {
			w.WriteHeader(int(code))
		}
		return
	case "/apis/authentication.k8s.io/v1/tokenreviews":
		answer = d.reviewToken(r)
	case "/apis/authorization.k8s.io/v1/subjectaccessreviews":
		answer = d.reviewSubject(r)
	}
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(answer) // the client sees that it is missing
}

func (d *decider) reviewToken(r *http.Request) *authenticationv1.TokenReview {
	d.tokens.Add(1)
	review := new(authenticationv1.TokenReview)
	_ = json.NewDecoder(r.Body).Decode(review) // an empty token is refused
	name, group, ok := strings.Cut(review.Spec.Token, "@")
	review.Spec.Token = ""
	if !ok || d.denies.Load() {
		review.Status.Error = "[invalid bearer token, token lookup failed]"
		return review
	}
	if d.admin.Load() {
		group += ",admins"
	}
	review.Status.Authenticated = true
	review.Status.User = authenticationv1.UserInfo{Username: name, UID: "1", Groups: strings.Split(group, ","), Extra: map[string]authenticationv1.ExtraValue{"scopes": {"a"}}}
	return review
}

func (d *decider) reviewSubject(r *http.Request) *authorizationv1.SubjectAccessReview {
	d.subjects.Add(1)
	if d.hold != nil {
		<-d.hold
	}
	review := new(authorizationv1.SubjectAccessReview)
	_ = json.NewDecoder(r.Body).Decode(review) // what is missing is denied
	d.mu.Lock()
	d.last = review.Spec
	d.mu.Unlock()
	a := review.Spec.ResourceAttributes
	review.Status.Allowed = !d.denies.Load() && slices.Contains(review.Spec.Groups, "readers") || a != nil && a.Resource == "configmaps" && a.FieldSelector != nil && a.LabelSelector != nil &&
		a.FieldSelector.Requirements[0].Key == "x" && a.LabelSelector.Requirements[0].Key == "a"
	if !review.Status.Allowed {
		review.Status.Reason = "no rule"
	}
	return review
}

// config returns the configuration of clients of a server.
func config(server *httptest.Server) *rest.Config {
	return restrict(&rest.Config{}, server.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

// start starts a decider and a Delegate that asks it.
func start(t *testing.T) (*decider, *httptest.Server, *Delegate, *testingclock.FakeClock) {
	t.Helper()
	d := new(decider)
	server := httptest.NewTLSServer(d)
	t.Cleanup(server.Close)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	clients, err := NewClients(config(server))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(clients.http.CloseIdleConnections)
	now := testingclock.NewFakeClock(time.Now())
	logger := slog.New(slog.DiscardHandler)
	return d, server, newDelegate(func() *Clients { return clients }, NewAvailability(server.URL, logger), logger, now), now
}

// probe lets a Delegate find out whether the server answers.
func probe(t *testing.T, d *Delegate) {
	t.Helper()
	_ = d.availability.Check(t.Context(), d.clients()) // the availability has it
}

var (
	reader = &authentication.Identity{Name: "alice", UID: "7", Groups: []string{"readers"}, Extra: map[string][]string{"scopes": {"a"}}}
	other  = &authentication.Identity{Name: "bob", Groups: []string{"system:authenticated"}}
)

func TestAuthorize(t *testing.T) {
	kube, _, d, _ := start(t)
	list := authorization.Attributes{Verb: "list", Version: "v1", Resource: "configmaps", Namespace: "a"}
	if err := d.Authorize(reader, list); err != nil {
		t.Error(err)
	}
	kube.mu.Lock()
	got := kube.last
	kube.mu.Unlock()
	if got.User != "alice" || got.UID != "7" || !slices.Equal(got.Groups, []string{"readers"}) || got.Extra["scopes"][0] != "a" ||
		got.ResourceAttributes == nil || got.ResourceAttributes.Version != "v1" || got.ResourceAttributes.Namespace != "a" || got.NonResourceAttributes != nil {
		t.Errorf("it is asked %+v", got)
	}
	want := `configmaps is forbidden: User "bob" cannot list resource "configmaps" in API group "" in the namespace "a": no rule`
	if err := d.Authorize(other, list); !apierrors.IsForbidden(err) || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	selected := list
	selected.FieldSelector, selected.LabelSelector = "x=y", "a in (b,c)"
	if err := d.Authorize(other, selected); err != nil {
		t.Errorf("with the selectors that the rule wants: %v", err)
	}
	for range 3 {
		if d.Authorize(reader, list) != nil || d.Authorize(other, list) == nil {
			t.Error("another decision")
		}
	}
	if n := kube.subjects.Load(); n != 3 {
		t.Errorf("it is asked %d times, want 3", n)
	}
}

// TestAuthorizeKeys checks which paths stand for keys.
func TestAuthorizeKeys(t *testing.T) {
	kube, _, d, _ := start(t)
	for key, path := range map[string]string{"/app/a": "/v1/keys/app/a", "/app/": "/v1/keys/app/", "/": "/v1/keys/", "flat": "/v1/keys"} {
		if err := d.Authorize(reader, authorization.Attributes{Verb: "list", Key: key}); err != nil {
			t.Error(err)
		}
		kube.mu.Lock()
		got := kube.last.NonResourceAttributes
		kube.mu.Unlock()
		if got == nil || got.Path != path || got.Verb != "list" {
			t.Errorf("%q: it is asked %+v, want %s", key, got, path)
		}
	}
	if before := kube.subjects.Load(); d.Authorize(reader, authorization.Attributes{Verb: "watch", Key: "/a", Keys: []string{"/b", "/c"}}) != nil || kube.subjects.Load() != before+3 {
		t.Error("not every key is asked for")
	}
}

func TestReviewToken(t *testing.T) {
	kube, _, d, _ := start(t)
	for range 2 {
		got, err := d.ReviewToken(t.Context(), "carol@readers")
		if err != nil || got.Name != "carol" || got.UID != "1" || !slices.Equal(got.Groups, []string{"readers"}) || got.Extra["scopes"][0] != "a" || !got.MayHaveEnded(time.Now()) || !got.Holds(time.Now()) {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := d.ReviewToken(t.Context(), "nobody"); !errors.Is(err, authentication.ErrRefused) {
			t.Errorf("an invalid token: %v", err)
		}
	}
	if n := kube.tokens.Load(); n != 2 {
		t.Errorf("it is asked %d times, want 2: refusals are cached too", n)
	}
}

// TestAway checks which decisions stay in use while the kube-apiserver does not answer, and how long.
func TestAway(t *testing.T) {
	for name, fail := range map[string]func(*decider, *httptest.Server){
		"nobody listens": func(_ *decider, s *httptest.Server) { s.Close() },
		"it is starting": func(d *decider, _ *httptest.Server) { d.code.Store(http.StatusInternalServerError) },
	} {
		t.Run(name, func(t *testing.T) {
			kube, server, d, now := start(t)
			list, get := authorization.Attributes{Verb: "list", Resource: "configmaps"}, authorization.Attributes{Verb: "get", Resource: "configmaps"}
			carol, err := d.ReviewToken(t.Context(), "carol@readers")
			if err != nil || d.Authorize(reader, list) != nil || d.Authorize(other, list) == nil {
				t.Fatal("the decisions differ")
			}
			if _, err = d.ReviewToken(t.Context(), "nobody"); err == nil {
				t.Fatal("an invalid token is accepted")
			}
			fail(kube, server)
			probe(t, d)
			if problems := d.availability.Problems(); len(problems) != 1 || !strings.Contains(problems[0], server.URL+" does not answer since ") {
				t.Errorf("the problems are %q", problems)
			}
			now.Step(MaxStale - time.Second)
			if err := d.Authorize(reader, list); err != nil {
				t.Errorf("what was allowed: %v", err)
			}
			if again, err := d.ReviewToken(t.Context(), "carol@readers"); err != nil || again.Name != "carol" {
				t.Errorf("the token that was accepted: %v, %v", again, err)
			}
			for who, err := range map[string]error{"what was denied": d.Authorize(other, list), "what was not asked": d.Authorize(reader, get)} {
				if !errors.Is(err, access.ErrUndecided) {
					t.Errorf("%s: %v", who, err)
				}
			}
			if _, err := d.ReviewToken(t.Context(), "nobody"); !errors.Is(err, authentication.ErrUnavailable) {
				t.Errorf("the token that was refused: %v", err)
			}
			now.Step(2 * time.Second)
			if err := d.Authorize(reader, list); !errors.Is(err, access.ErrUndecided) {
				t.Errorf("after MaxStale: %v", err)
			}
			if _, err := d.ReviewToken(t.Context(), "carol@readers"); !errors.Is(err, authentication.ErrUnavailable) {
				t.Errorf("the token after MaxStale: %v", err)
			}
			if !carol.Holds(time.Now()) {
				t.Error("an open watch ends with 401 because nobody can review its token")
			}
		})
	}
}

// TestMetrics checks the counts of decisions by their results, and CheckRights.
func TestMetrics(t *testing.T) {
	kube, _, d, _ := start(t)
	get := authorization.Attributes{Verb: "get", Resource: "configmaps"}
	ask := func() {
		for _, identity := range []*authentication.Identity{reader, other} {
			_ = d.Authorize(identity, get) // only the count matters
		}
		_, _ = d.ReviewToken(t.Context(), "carol@readers") // only the count matters
	}
	kube.code.Store(http.StatusForbidden)
	if err := d.clients().CheckRights(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "a TokenReview: ") {
		t.Errorf("without the rights: %v", err)
	}
	kube.code.Store(0)
	if err := d.clients().CheckRights(t.Context()); err != nil {
		t.Errorf("with the rights: %v", err)
	}
	ask()
	kube.code.Store(http.StatusServiceUnavailable)
	probe(t, d)
	ask()
	registry := prometheus.NewRegistry()
	registry.MustRegister(d, d.availability.Collector())
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]float64)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := strings.TrimPrefix(family.GetName(), "revtail_kube_apiserver_")
			for _, label := range metric.GetLabel() {
				name += " " + label.GetValue()
			}
			if value := metric.GetCounter().GetValue() + metric.GetGauge().GetValue(); value != 0 {
				got[name] = value
			}
		}
	}
	want := map[string]float64{
		"decisions_kept SubjectAccessReview": 1, "decisions_kept TokenReview": 1,
		"decisions_total allowed SubjectAccessReview": 1, "decisions_total denied SubjectAccessReview": 1, "decisions_total earlier SubjectAccessReview": 1,
		"decisions_total undecided SubjectAccessReview": 1, "decisions_total allowed TokenReview": 1, "decisions_total earlier TokenReview": 1,
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestDenialIsRemembered checks that a right that was lost is not found again when the kube-apiserver goes away.
func TestDenialIsRemembered(t *testing.T) {
	_, server, d, _ := start(t)
	list := authorization.Attributes{Verb: "list", Resource: "configmaps"}
	d.allows.Add(d.requestKey(other, list), struct{}{}, MaxStale)
	if err := d.Authorize(other, list); !apierrors.IsForbidden(err) {
		t.Fatal(err)
	}
	server.Close()
	probe(t, d)
	if err := d.Authorize(other, list); !errors.Is(err, access.ErrUndecided) {
		t.Error(err)
	}
}

// TestRights checks that a kube-apiserver that refuses the questions is not taken for one that is away.
func TestRights(t *testing.T) {
	kube, _, d, _ := start(t)
	get := authorization.Attributes{Verb: "get", Resource: "configmaps"}
	if err := d.Authorize(reader, get); err != nil {
		t.Fatal(err)
	}
	kube.code.Store(http.StatusForbidden)
	get.Name = "other"
	err := d.Authorize(reader, get)
	if status, ok := errors.AsType[*apierrors.StatusError](err); !ok || status.ErrStatus.Code != http.StatusServiceUnavailable || !strings.Contains(err.Error(), "system:auth-delegator") {
		t.Errorf("%v", err)
	}
	if _, err := d.ReviewToken(t.Context(), "carol@readers"); !errors.Is(err, authentication.ErrUnavailable) {
		t.Errorf("a token: %v", err)
	}
	if probe(t, d); d.availability.Away() {
		t.Error("a kube-apiserver that refuses is away")
	}
}

// TestRun checks that the return of a kube-apiserver is noticed, also by a Suspect.
func TestRun(t *testing.T) {
	kube, _, d, _ := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- d.availability.Run(ctx, d.clients) }()
	await := func(away bool) {
		t.Helper()
		for d.availability.Suspect(); d.availability.Away() != away; <-time.After(10 * time.Millisecond) {
			if t.Context().Err() != nil {
				t.Fatal("not noticed")
			}
		}
	}
	kube.code.Store(http.StatusServiceUnavailable)
	await(true)
	kube.code.Store(0)
	await(false)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestParseKubeconfig(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"ca.crt": "authority", "tls.crt": "certificate", "tls.key": "key"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kubeconfig := func(cluster, user string) []byte {
		return []byte("apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n" +
			"clusters: [{name: a, cluster: {" + cluster + "}}]\nusers: [{name: a, user: {" + user + "}}]\n")
	}
	const certificate = "client-certificate: tls.crt, client-key: tls.key"
	path := filepath.Join(dir, "revtail.conf")
	got, err := ParseKubeconfig(kubeconfig("server: https://elsewhere.example.com, certificate-authority: ca.crt", certificate), path, "https://kube:6443", nil)
	if err != nil || got.Host != "https://kube:6443" || got.CAFile != filepath.Join(dir, "ca.crt") || got.CertFile != filepath.Join(dir, "tls.crt") || got.Timeout != reviewTimeout {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = ParseKubeconfig(kubeconfig("server: https://elsewhere.example.com, certificate-authority: ca.crt", certificate), path, "https://kube:6443", []byte("bundle"))
	if err != nil || got.CAFile != "" || string(got.CAData) != "bundle" {
		t.Errorf("with authorities of its own: %+v, %v", got, err)
	}
	for name, content := range map[string][]byte{
		"insecure":      kubeconfig("server: https://a, insecure-skip-tls-verify: true", certificate),
		"impersonation": kubeconfig("server: https://a", "token: a, as: admin"),
		"no kubeconfig": []byte("{"),
	} {
		if got, err := ParseKubeconfig(content, path, "https://kube:6443", nil); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if _, err := NewClients(restrict(&rest.Config{}, "http://kube", nil)); err == nil {
		t.Error("plain HTTP is accepted")
	}
}
