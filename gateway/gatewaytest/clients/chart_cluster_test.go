package clients

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"revtail/gateway/gatewaytest"
)

// addCluster starts a kube-apiserver, which becomes the context my-cluster of the reader, and returns a client. helm is in the PATH of the
// reader.
func (r *reader) addCluster(t *testing.T) kubernetes.Interface {
	t.Helper()
	if err := os.Symlink(gatewaytest.Tool(t, "helm"), filepath.Join(r.trap.Home, "bin", "helm")); err != nil {
		t.Fatal(err)
	}
	server := gatewaytest.StartKubeAPIServer(t, gatewaytest.StartEtcd(t, 1).Endpoints())
	for _, command := range []string{
		"set-cluster my-cluster --insecure-skip-tls-verify --server " + server.URL, "set-credentials my-cluster --token " + server.Token,
		"set-context my-cluster --cluster my-cluster --user my-cluster",
	} {
		r.do(t, gatewaytest.Step{Command: "kubectl config " + command})
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: server.TLS.RootCAs}}
	t.Cleanup(transport.CloseIdleConnections)
	client, err := kubernetes.NewForConfigAndClient(&rest.Config{Host: server.URL, BearerToken: server.Token, QPS: -1},
		&http.Client{Transport: bearer{server.Token, transport}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// bearer sends a token with each request.
type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(req)
}

// define adds the definitions of the Prometheus operator, the Gateway API and cert-manager to the cluster.
func (r *reader) define(t *testing.T) {
	t.Helper()
	folder := filepath.Join(filepath.Dir(gatewaytest.Tool(t, "etcd")), "definitions")
	var files []string
	for _, name := range []string{
		"prometheus-operator/crds/*servicemonitors.yaml", "prometheus-operator/crds/*prometheusrules.yaml",
		"gateway-api/crds/*httproutes.yaml", "gateway-api/crds/*backendtlspolicies.yaml", "cert-manager/crds/*.io_certificates.yaml",
	} {
		found, err := filepath.Glob(filepath.Join(folder, name))
		if err != nil || len(found) == 0 {
			t.Skipf("no definitions of other projects at %s: `make tools` gets them", filepath.Join(folder, name))
		}
		files = append(files, found...)
	}
	const kubectl = "kubectl --context my-cluster "
	all := " -f " + strings.Join(files, " -f ")
	r.do(t, gatewaytest.Step{Command: kubectl + "create" + all})
	r.do(t, gatewaytest.Step{Command: kubectl + "wait --for=condition=Established --timeout=60s" + all})
}

// quietly is do for a command that must print no warning, for example of the pod security standard.
func (r *reader) quietly(t *testing.T, command string) {
	t.Helper()
	r.do(t, gatewaytest.Step{Command: "said=$(" + command + " 2>&1)" + ` || { echo "$said"; false; }`})
	r.do(t, gatewaytest.Step{Command: `! grep -i warning <<<"$said"`})
}

// namespace makes a namespace that enforces the pod security standard `restricted`, and warns of objects whose pods do not meet it.
func (r *reader) namespace(t *testing.T, name string) {
	t.Helper()
	r.do(t, gatewaytest.Step{Command: "kubectl --context my-cluster create namespace " + name})
	r.do(t, gatewaytest.Step{Command: "kubectl --context my-cluster label namespace " + name +
		" pod-security.kubernetes.io/enforce=restricted pod-security.kubernetes.io/warn=restricted"})
}

// left is a command that prints the objects of a release.
const left = "kubectl --context my-cluster -n %s get -o name -l app.kubernetes.io/instance=revtail deployments,statefulsets,services,configmaps," +
	"serviceaccounts,poddisruptionbudgets,networkpolicies,ingresses,httproutes,backendtlspolicies,servicemonitors,prometheusrules,certificates"

// TestChartInACluster installs, upgrades, rolls back and removes the chart in a real cluster without nodes, with each set of values.
func TestChartInACluster(t *testing.T) {
	t.Parallel()
	r := newReader(t, t.TempDir())
	client := r.addCluster(t)
	r.define(t)
	folder, err := filepath.Abs(chart)
	if err != nil {
		t.Fatal(err)
	}
	for set, file := range valueSets(t) {
		name := "with-" + set
		values := fmt.Sprintf(" revtail %s -f %s", folder, file)
		helm := "helm --kube-context my-cluster -n " + name
		r.namespace(t, name)
		r.quietly(t, fmt.Sprintf("helm -n %s template%s --validate=false | grep -v '^level=' | kubectl --context my-cluster -n %[1]s apply --server-side --dry-run=server --validate=strict -f -", name, values))
		r.quietly(t, helm+" install"+values)
		r.do(t, gatewaytest.Step{Command: "test -n \"$(" + fmt.Sprintf(left, name) + ")\""})
		checkPods(t, client, name)
		before := replicas(t, client, name)
		r.quietly(t, helm+" upgrade"+values+" --set replicas=5")
		if n := replicas(t, client, name); n != 5 {
			t.Errorf("%s: %d gateways after an upgrade to 5", name, n)
		}
		r.quietly(t, helm+" rollback revtail 1")
		if n := replicas(t, client, name); n != before {
			t.Errorf("%s: %d gateways after the rollback, want %d", name, n, before)
		}
		r.quietly(t, helm+" uninstall revtail")
		r.do(t, gatewaytest.Step{Command: "objects=$(" + fmt.Sprintf(left, name) + "); echo \"$objects\"; test -z \"$objects\""})
	}
}

// replicas returns the number of gateways that the Deployment of a namespace asks for.
func replicas(t *testing.T, client kubernetes.Interface, namespace string) int {
	t.Helper()
	list, err := client.AppsV1().Deployments(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%d deployments, %v", len(list.Items), err)
	}
	return int(*list.Items[0].Spec.Replicas)
}

// checkPods checks that the API server accepts the pods of the Deployment and of the StatefulSet of a namespace, which its pod security
// standard may refuse.
func checkPods(t *testing.T, client kubernetes.Interface, namespace string) {
	t.Helper()
	var templates []corev1.PodTemplateSpec
	deployments, err := client.AppsV1().Deployments(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range deployments.Items {
		templates = append(templates, d.Spec.Template)
	}
	sets, err := client.AppsV1().StatefulSets(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sets.Items {
		pod := s.Spec.Template.DeepCopy() // with its volumes, as the controller makes it
		for _, claim := range s.Spec.VolumeClaimTemplates {
			pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: claim.Name, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name + "-" + s.Name + "-0"},
			}})
		}
		templates = append(templates, *pod)
	}
	if len(templates) == 0 {
		t.Errorf("%s: no pods", namespace)
	}
	for _, template := range templates {
		pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
		pod.GenerateName = "pod-"
		pod.Spec.PriorityClassName = "" // of a class of the user's
		if _, err := client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
			t.Errorf("%s: %v", namespace, err)
		}
	}
}

// TestKustomizationInACluster applies the kustomization, with and without its components, to a real cluster without nodes.
func TestKustomizationInACluster(t *testing.T) {
	t.Parallel()
	r := newReader(t, t.TempDir())
	client := r.addCluster(t)
	r.define(t)
	r.copyDeploy(t)
	write := func(folder, text string) {
		t.Helper()
		r.do(t, gatewaytest.Step{Command: "mkdir " + folder})
		r.write(t, folder+"/kustomization.yaml", text)
	}
	write("base", "namespace: base\nresources: [../deploy/kubernetes]\n")
	write("own", "namespace: own\nresources: [../deploy/kubernetes]\ncomponents: [../deploy/kubernetes/components/own-etcd]\n")
	for _, block := range section(t, kubernetesDocument, "Install with kubectl") {
		if block.Language == "yaml" {
			write("my-revtail", block.Text)
		}
	}
	for _, folder := range []string{"base", "own", "my-revtail"} {
		name := strings.TrimPrefix(folder, "my-")
		r.namespace(t, name)
		r.quietly(t, "kubectl --context my-cluster apply --server-side --dry-run=server --validate=strict -k "+folder)
		r.quietly(t, "kubectl --context my-cluster apply --validate=strict -k "+folder)
		r.do(t, gatewaytest.Step{Command: "kubectl --context my-cluster diff -k " + folder})
		checkPods(t, client, name)
	}
}

// kubernetesDocument has the commands for a real cluster.
const kubernetesDocument = "../../../deploy/kubernetes/README.md"

func (r *reader) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.folder, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// copyDeploy copies the folder deploy into the working folder of the reader.
func (r *reader) copyDeploy(t *testing.T) {
	t.Helper()
	folder, err := filepath.Abs(repository + "/deploy")
	if err != nil {
		t.Fatal(err)
	}
	r.do(t, gatewaytest.Step{Command: "cp -r " + folder + " deploy"})
}
