package clients

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/gatewaytest"
)

// policy lets requests without a credential do everything, and alice read ConfigMaps in the namespace a.
const policy = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: anybody}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: Group, name: "system:unauthenticated"}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: a}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: a}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: User, name: alice}]
`

// TestReviews asks for tokens and for rights by client-go, in protobuf, and by kubectl.
func TestReviews(t *testing.T) {
	dir := t.TempDir()
	_, key := gatewaytest.NewAuthority(t, "keys").Issue(t, "key").Write(t, dir, "sa")
	file := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(file, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	gw := gatewaytest.Start(t, "--policy-file", file, "--service-account-issuer", "https://revtail.example.com", "--service-account-signing-key-file", key,
		"--service-account-max-token-expiration", "2h")
	client := newClient(t, gw).typed(t)
	accounts := client.CoreV1().ServiceAccounts(namespace)
	account, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "app"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	token, err := accounts.CreateToken(t.Context(), "app", &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: []string{"shop"}, ExpirationSeconds: new(int64(24 * 3600))}}, metav1.CreateOptions{})
	if err != nil || *token.Spec.ExpirationSeconds != 7200 || token.UID != account.UID {
		t.Fatalf("%v: %+v, want two hours", err, token)
	}
	review, err := client.AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token.Status.Token, Audiences: []string{"shop"}}}, metav1.CreateOptions{})
	if err != nil || !review.Status.Authenticated || review.Status.User.UID != string(account.UID) || len(review.Status.Audiences) != 1 || len(review.Status.User.Extra) != 1 {
		t.Errorf("%v: %+v", err, review)
	}
	for place, want := range map[string]bool{"a": true, "b": false} {
		spec := authorizationv1.SubjectAccessReviewSpec{User: "alice", ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: place, Verb: "get", Resource: "configmaps"}}
		all, failed := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
		if failed != nil || all.Status.Allowed != want || all.Status.Denied {
			t.Errorf("%s: %v: %+v", place, failed, all)
		}
		local, failed := client.AuthorizationV1().LocalSubjectAccessReviews(place).Create(t.Context(), &authorizationv1.LocalSubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
		if failed != nil || local.Status.Allowed != want || local.Namespace != place {
			t.Errorf("%s: %v: %+v", place, failed, local)
		}
	}
	kubectl := exec.CommandContext(t.Context(), gatewaytest.Tool(t, "kubectl"), "--kubeconfig", "/dev/null", "--cache-dir", dir, "--server", gw.URL, "create", "token", "app")
	created, err := kubectl.Output()
	if err != nil {
		t.Fatal(err)
	}
	who := gw.As(strings.TrimSpace(string(created))).Do(t, http.MethodPost, "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}") // kubectl sends no token over HTTP
	if who.Code != http.StatusCreated || !strings.Contains(who.Body, `"username":"system:serviceaccount:default:app"`) {
		t.Errorf("the user of a token that kubectl created: %d %s", who.Code, who.Body)
	}
}
