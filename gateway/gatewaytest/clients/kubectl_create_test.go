package clients

import (
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestKubectlCreate runs the commands of kubectl that have a typed client under them, and so send protobuf.
func TestKubectlCreate(t *testing.T) {
	t.Parallel()
	kubectl := kubectlFor(t, gatewaytest.Start(t))
	const question = `{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}`
	if got := kubectl(question, "create", "-f", "-", "-o", "yaml"); !strings.Contains(got, "system:anonymous") {
		t.Errorf("kubectl create -f -: %s", got)
	}
	for _, step := range []struct{ args, want string }{
		{"auth can-i create pods", "yes"},
		{"auth can-i get /healthz", "yes"},
		{"auth whoami", "system:anonymous"},
		{"create namespace n", "namespace/n created"},
		{"create configmap x -n n --from-literal=a=b", "configmap/x created"},
		{"get configmap x -n n -o jsonpath={.data.a}", "b"},
		{"create configmap x -n n --from-literal=a=b", "already exists"},
		{"create secret generic s -n n --from-literal=a=b", "secret/s created"},
		{"get secret s -n n -o jsonpath={.data.a}", "Yg=="},
		{"create deployment d -n n --image=nginx --replicas=3", "deployment.apps/d created"},
		{"get deployment d -n n -o jsonpath={.spec.replicas}", "3"},
		{"create job j -n n --image=busybox", "job.batch/j created"},
		{"create serviceaccount a -n n --dry-run=server", "created (server dry run)"},
		{"delete configmap x -n n", `configmap "x" deleted`},
		{"delete deployment d -n n --cascade=orphan", `deployment.apps "d" deleted`},
		{"delete secret -n n --all", `secret "s" deleted`},
	} {
		if got := kubectl("", strings.Fields(step.args)...); !strings.Contains(got, step.want) {
			t.Errorf("kubectl %s: %s\nwant %q", step.args, got, step.want)
		}
	}
}
