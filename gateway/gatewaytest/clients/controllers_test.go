package clients

import (
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"revtail/gateway/gatewaytest"
)

// TestControllers runs the sessions in testdata/controllers beside Kubernetes' own controllers, which act on the requests of kubectl.
func TestControllers(t *testing.T) {
	t.Parallel()
	kubectl := gatewaytest.Tool(t, "kubectl")
	paths, err := filepath.Glob("testdata/controllers/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			gw := gatewaytest.Start(t)
			startKubelet(t, gw)
			gatewaytest.StartControllers(t, gw, "controllers")
			newTerminal(t, kubectl, gw, gw.EtcdEndpoint).play(t, path)
		})
	}
}

// TestControllersOutliveGateway checks that a rollout continues when the gateway is killed and another one starts.
func TestControllersOutliveGateway(t *testing.T) {
	t.Parallel()
	kubectl, etcd := gatewaytest.Tool(t, "kubectl"), gatewaytest.StartEtcd(t, 1)
	gw := gatewaytest.Start(t, "--etcd-endpoints", etcd.Endpoints())
	startKubelet(t, gw)
	gatewaytest.StartControllers(t, gw, "controllers")
	client, term := newClient(t, gw).typed(t), newTerminal(t, kubectl, gw, etcd.Endpoints())
	term.must(t, "kubectl create deployment web --image=web:1 --replicas=10")
	term.must(t, "kubectl rollout status deployment web --timeout=50s")
	term.must(t, "kubectl set image deployment web web=web:2")
	gatewaytest.Until(t, "a rollout that is under way", func() bool {
		status := deployment(t, client).Status
		return status.UpdatedReplicas > 0
	})
	gw.Kill(t)
	gw.Restart(t)
	term.must(t, "kubectl rollout status deployment web --timeout=50s")
	checkSettled(t, client, "web:2", 10)
	if holder := leader(t, client); holder != "controllers" {
		t.Errorf("%q leads", holder)
	}
}

// TestControllersTakeOver checks that one of two copies leads, and that the other one finishes its work when it is killed.
func TestControllersTakeOver(t *testing.T) {
	t.Parallel()
	kubectl, gw := gatewaytest.Tool(t, "kubectl"), gatewaytest.Start(t)
	startKubelet(t, gw)
	client, term := newClient(t, gw).typed(t), newTerminal(t, kubectl, gw, gw.EtcdEndpoint)
	one := gatewaytest.StartControllers(t, gw, "one")
	gatewaytest.Until(t, "a leader", func() bool { return leader(t, client) == "one" })
	gatewaytest.StartControllers(t, gw, "two")
	term.must(t, "kubectl create deployment web --image=web:1 --replicas=4")
	term.must(t, "kubectl rollout status deployment web --timeout=50s")
	term.must(t, "kubectl set image deployment web web=web:broken")
	gatewaytest.Until(t, "a rollout that is under way", func() bool { return deployment(t, client).Status.UpdatedReplicas > 0 })
	if holder := leader(t, client); holder != "one" {
		t.Errorf("%q leads", holder)
	}
	one.Kill(t)
	term.must(t, "kubectl set image deployment web web=web:2")
	term.must(t, "kubectl rollout status deployment web --timeout=50s")
	checkSettled(t, client, "web:2", 4)
	if holder := leader(t, client); holder != "two" {
		t.Errorf("%q leads", holder)
	}
}

// must runs a command line that has to succeed.
func (term *terminal) must(t *testing.T, line string) {
	t.Helper()
	if output := term.shell(t, line); strings.Contains(output, "(exit ") {
		t.Fatalf("$ %s\n%s", line, output)
	}
}

// leader returns the holder of the controllers' lease; empty: none.
func leader(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	lease, err := client.CoordinationV1().Leases("kube-system").Get(t.Context(), "kube-controller-manager", metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

func deployment(t *testing.T, client kubernetes.Interface) *appsv1.Deployment {
	t.Helper()
	d, err := client.AppsV1().Deployments(namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// checkSettled checks that the Deployment has the given number of pods, each with the image and owned by the only ReplicaSet with replicas.
func checkSettled(t *testing.T, client kubernetes.Interface, image string, replicas int) {
	t.Helper()
	gatewaytest.Until(t, "no pods but those that are wanted", func() bool { return int(deployment(t, client).Status.Replicas) == replicas })
	sets, err := client.AppsV1().ReplicaSets(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	owners := make(map[string]bool)
	for _, set := range sets.Items {
		if *set.Spec.Replicas > 0 {
			owners[string(set.UID)] = true
		}
	}
	pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(owners) != 1 || len(pods.Items) != replicas {
		t.Fatalf("%d pods of %d replica sets, %v; want %d of one", len(pods.Items), len(owners), err, replicas)
	}
	for _, pod := range pods.Items {
		if owner := metav1.GetControllerOf(&pod); owner == nil || !owners[string(owner.UID)] || pod.Spec.Containers[0].Image != image {
			t.Errorf("pod %s: owner %v, image %s", pod.Name, owner, pod.Spec.Containers[0].Image)
		}
	}
}
