package clients

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"revtail/gateway/gatewaytest"
)

// node runs the pods of a namespace, because the cluster of the test has no controllers and no kubelets.
type node struct {
	client    kubernetes.Interface
	namespace string
	images    map[string]string // the folders of images, by the name of the container
	data      map[string]string // the folders of volumes with data, by pod: they outlive the pods
	gateways  []*pod
	members   []*pod
	hosts     string // the names of the pods, as in /etc/hosts
}

func newNode(t *testing.T, client kubernetes.Interface, namespace string) *node {
	t.Helper()
	return &node{client: client, namespace: namespace, data: map[string]string{}, images: map[string]string{
		"revtail": makeImage(t, gatewaytest.Binary(t)),
		"etcd":    makeImage(t, gatewaytest.Tool(t, "etcd"), gatewaytest.Tool(t, "etcdctl")),
	}}
}

// start starts the pods of the StatefulSet, if there is one, and of the Deployment, and waits until all are ready.
func (n *node) start(t *testing.T) {
	t.Helper()
	n.gateways, n.members = nil, nil
	sets, err := n.client.AppsV1().StatefulSets(n.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(sets.Items) > 1 {
		t.Fatalf("%v, %v", sets, err)
	}
	deployments, err := n.client.AppsV1().Deployments(n.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(deployments.Items) != 1 {
		t.Fatalf("%v, %v", deployments, err)
	}
	n.hosts = "127.0.1.10 revtail\n"
	for _, set := range sets.Items {
		for i := range int(*set.Spec.Replicas) {
			member := &pod{name: fmt.Sprintf("%s-%d", set.Name, i), address: fmt.Sprintf("127.0.1.%d", 20+i), spec: set.Spec.Template.Spec}
			n.hosts += fmt.Sprintf("%s %s.%s\n", member.address, member.name, set.Spec.ServiceName)
			n.members = append(n.members, member)
		}
	}
	for i := range int(*deployments.Items[0].Spec.Replicas) {
		n.gateways = append(n.gateways, &pod{name: fmt.Sprint("gateway-", i), address: fmt.Sprintf("127.0.1.%d", 10+i), spec: deployments.Items[0].Spec.Template.Spec})
	}
	for _, p := range append(n.members, n.gateways...) {
		n.run(t, p)
	}
	for _, p := range append(n.members, n.gateways...) {
		p.awaitReady(t)
	}
}

// run starts a pod, with the content of the Secrets and ConfigMaps that the cluster has now.
func (n *node) run(t *testing.T, p *pod) {
	t.Helper()
	if len(p.spec.Containers) != 1 || !*p.spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem {
		t.Fatalf("%s: want one container, whose root directory is read-only", p.name)
	}
	if n.data[p.name] == "" {
		n.data[p.name] = t.TempDir()
	}
	container := p.spec.Containers[0].Name
	newPod(t, p, n.images[container], n.data[p.name], n.hosts, n.files(t, p.spec))
	p.start(t, container)
}

// replace starts a pod of the StatefulSet again, as the StatefulSet is now.
func (n *node) replace(t *testing.T, p *pod) {
	t.Helper()
	sets, err := n.client.AppsV1().StatefulSets(n.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(sets.Items) != 1 {
		t.Fatalf("%v, %v", sets, err)
	}
	p.spec = sets.Items[0].Spec.Template.Spec
	n.run(t, p)
}

// files returns the content of the Secrets and ConfigMaps that a pod mounts, by volume and name.
func (n *node) files(t *testing.T, spec corev1.PodSpec) map[string]map[string]string {
	t.Helper()
	out := map[string]map[string]string{}
	for _, volume := range spec.Volumes {
		out[volume.Name] = map[string]string{}
		switch {
		case volume.Secret != nil:
			secret, err := n.client.CoreV1().Secrets(n.namespace).Get(t.Context(), volume.Secret.SecretName, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for name, content := range secret.Data {
				out[volume.Name][name] = string(content)
			}
		case volume.ConfigMap != nil:
			object, err := n.client.CoreV1().ConfigMaps(n.namespace).Get(t.Context(), volume.ConfigMap.Name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			out[volume.Name] = object.Data
		default:
			t.Fatalf("a volume of another kind: %+v", volume)
		}
	}
	return out
}

// stop ends all pods, the gateways first.
func (n *node) stop(t *testing.T) {
	t.Helper()
	for _, p := range append(n.gateways, n.members...) {
		p.stop(t)
	}
}

// exec does what `kubectl exec POD -- COMMAND` does, and returns what the command prints.
func (n *node) exec(t *testing.T, command string) string {
	t.Helper()
	printed, err := n.try(t, command)
	if err != nil {
		t.Errorf("%s: %v\n%s", command, err, printed)
	}
	return printed
}

// try is exec for a command that may fail.
func (n *node) try(t *testing.T, command string) (printed string, err error) {
	t.Helper()
	for _, p := range n.members {
		if line, found := strings.CutPrefix(command, p.name+" -- "); found {
			output, err := p.command(t, strings.Fields(line)...).CombinedOutput()
			return string(output), err
		}
	}
	t.Fatalf("no pod for %q", command)
	return "", nil
}
