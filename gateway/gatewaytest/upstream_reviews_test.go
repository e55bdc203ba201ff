package gatewaytest_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"revtail/gateway/gatewaytest"
)

// decider is a server that answers TokenReviews and SubjectAccessReviews. A token is the name of its user. All users may do everything until denied
// is set.
type decider struct {
	denied   atomic.Bool  // all users but stalled
	silent   atomic.Bool  // reviews about stalled have no answer
	unheeded atomic.Int64 // reviews without an answer
}

// stalled is the user whose reviews may have no answer.
const stalled = "stalled"

func (d *decider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer any
	switch r.URL.Path {
	case "/apis/authentication.k8s.io/v1/tokenreviews":
		review := new(authenticationv1.TokenReview)
		_ = json.NewDecoder(r.Body).Decode(review) // what is missing is refused
		review.Status.Authenticated, review.Status.User.Username = review.Spec.Token != "", review.Spec.Token
		answer = review
	case "/apis/authorization.k8s.io/v1/subjectaccessreviews":
		review := new(authorizationv1.SubjectAccessReview)
		_ = json.NewDecoder(r.Body).Decode(review) // what is missing is allowed
		if review.Spec.User == stalled && d.silent.Load() {
			d.unheeded.Add(1)
			<-r.Context().Done()
			return
		}
		review.Status.Allowed = review.Spec.User == stalled || !d.denied.Load()
		answer = review
	}
	w.Header().Set("Content-Type", "application/json")
	if answer != nil {
		w.WriteHeader(http.StatusCreated)
	}
	_ = json.NewEncoder(w).Encode(answer) // the gateway sees that it is missing
}

// startDecided starts a gateway before an etcd, about which a decider decides.
func startDecided(t *testing.T) (*decider, *gatewaytest.Cluster, *gatewaytest.Gateway) {
	t.Helper()
	d := new(decider)
	server := httptest.NewTLSServer(d)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	authority, kubeconfig := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "revtail.conf")
	for path, content := range map[string][]byte{
		authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		kubeconfig: []byte("apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n" +
			"clusters: [{name: a, cluster: {server: " + server.URL + "}}]\nusers: [{name: a, user: {token: revtail}}]\n"),
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	etcd := gatewaytest.StartEtcd(t, 1)
	return d, etcd, gatewaytest.Start(t, "--cluster", "--etcd-endpoints", etcd.Endpoints(), "--kube-apiserver", server.URL,
		"--kube-apiserver-ca-file", authority, "--authentication-kubeconfig", kubeconfig)
}

// TestBehindSilentReviews checks that the watches of many users end when the users have lost their rights, while the reviews of another user have
// no answer, whose watches need more of them than there can be at the same time; and that the watches of that user go on.
func TestBehindSilentReviews(t *testing.T) {
	t.Parallel()
	d, etcd, g := startDecided(t)
	const users, watches, namespaces = 40, 5, 200
	var open, waiting []*gatewaytest.Watch
	for user := range users {
		for range watches {
			open = append(open, g.As(fmt.Sprintf("user-%d", user)).Watch(t, "/api/v1/configmaps?watch=1"))
		}
	}
	for n := range namespaces {
		waiting = append(waiting, g.As(stalled).Watch(t, fmt.Sprintf("/api/v1/namespaces/n%d/configmaps?watch=1", n)))
	}
	d.silent.Store(true)
	d.denied.Store(true)
	for _, w := range open {
		events := w.Rest(t)
		if len(events) != 1 || events[0].Type != "ERROR" || events[0].Object.Code != http.StatusForbidden {
			t.Fatalf("a watch ends with %+v", events)
		}
	}
	gatewaytest.Until(t, "reviews without an answer", func() bool { return d.unheeded.Load() > 0 })
	gatewaytest.DialEtcd(t, etcd.Endpoints()).Put(t, "/registry/configmaps/n7/one", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one","namespace":"n7"}}`)
	if event := waiting[7].Next(t); event.Type != "ADDED" || event.Object.Metadata.Name != "one" {
		t.Errorf("the watch of a user whose reviews have no answer gets %s", event.Line)
	}
}
