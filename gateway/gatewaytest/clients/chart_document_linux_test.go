package clients

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"revtail/gateway/gatewaytest"
)

// TestKubernetesDocument runs the commands of the document about Kubernetes unchanged in a real cluster without nodes, and the pods that
// the cluster would run: with helm, and then, on the same data, with the kustomization.
func TestKubernetesDocument(t *testing.T) {
	gatewaytest.InOwnNetwork(t, func(t *testing.T) {
		needMounts(t)
		r := newReader(t, t.TempDir())
		client := r.addCluster(t)
		r.define(t)
		r.copyDeploy(t)
		for _, title := range []string{"Image and namespace", "Secrets", "Certificates of the chart's etcd", "Install with helm"} {
			r.runConsole(t, title)
		}
		r.do(t, gatewaytest.Step{Command: "printf %s \"$token\" >token; printf %s \"$metrics\" >metrics"})
		n := newNode(t, client, "revtail")
		n.start(t)
		checkGateways(t, r, n)
		checkHelmTest(t, n)
		checkMembers(t, r, n)
		for _, block := range section(t, kubernetesDocument, "The chart's etcd") {
			n.runSteps(t, block)
		}
		replaceMember(t, r, n)
		n.stop(t)

		r.runConsole(t, "Upgrade and roll back")
		for _, block := range section(t, kubernetesDocument, "Install with kubectl") {
			if block.Language == "yaml" {
				r.do(t, gatewaytest.Step{Command: "mkdir my-revtail"})
				r.write(t, "my-revtail/kustomization.yaml", block.Text)
			}
		}
		r.runConsole(t, "Install with kubectl")
		n.start(t)
		if len(n.gateways) != 3 || len(n.members) != 3 {
			t.Fatalf("%d gateways, %d members", len(n.gateways), len(n.members))
		}
		kept := r.gateway(t, n.gateways[2], "token").Get(t, "/api/v1/namespaces/shop/configmaps/colours")
		if kept.Data["theme"] != "red" {
			t.Errorf("the data of the former installation: %+v", kept)
		}
	})
}

// TestExternalEtcd runs the gateways of the chart on an etcd of the user's with TLS, a user and a password, as in the document, and without
// TLS and authentication on an etcd without them.
func TestExternalEtcd(t *testing.T) {
	gatewaytest.InOwnNetwork(t, func(t *testing.T) {
		needMounts(t)
		r := newReader(t, t.TempDir())
		client := r.addCluster(t)
		r.copyDeploy(t)
		secure := gatewaytest.StartSecureEtcd(t)
		secure.EnableLogin(t, "gateway", "swordfish", "/registry/", "revtail/")
		pair := secure.Clients.Issue(t, "gateway")
		r.do(t, gatewaytest.Step{Command: "mkdir etcd; cp " + secure.CA + " etcd/ca.crt"})
		r.write(t, "etcd/client.crt", string(pair.Cert))
		r.write(t, "etcd/client.key", string(pair.Key))
		r.write(t, "etcd/password", "swordfish")
		r.runConsole(t, "Image and namespace")
		r.runConsole(t, "Secrets")
		for _, step := range section(t, kubernetesDocument, "An etcd of yours")[0].Steps() {
			r.do(t, step)
		}
		const install = "helm --kube-context my-cluster install revtail deploy/helm/revtail "
		r.do(t, gatewaytest.Step{Command: install + "-n revtail --set etcd.user=gateway --set etcd.endpoints='{" + secure.Endpoint + "}'"})
		r.do(t, gatewaytest.Step{Command: "printf %s \"$token\" >token"})
		n := newNode(t, client, "revtail")
		n.start(t)
		checkWrite(t, r.gateway(t, n.gateways[0], "token"))
		n.stop(t)

		r.namespace(t, "open")
		values := valueSets(t)["open"]
		etcd := gatewaytest.StartEtcd(t, 1).Endpoints()
		r.do(t, gatewaytest.Step{Command: install + "-n open -f " + values + " --set etcd.endpoints='{" + etcd + "}'"})
		n = newNode(t, client, "open")
		n.start(t)
		checkWrite(t, &gatewaytest.Gateway{URL: "http://" + n.gateways[0].address + ":8443"})
	})
}

// checkWrite checks that a gateway that is on an etcd without data writes.
func checkWrite(t *testing.T, gw *gatewaytest.Gateway) {
	t.Helper()
	watch := gw.Watch(t, "/api/v1/namespaces/shop/configmaps?watch=1")
	gw.Create(t, "/api/v1/namespaces/shop/configmaps", gatewaytest.ConfigMap("a", "1"))
	if event := watch.Next(t); event.Type != "ADDED" || event.Object.Metadata.Name != "a" {
		t.Errorf("the event: %s", event.Line)
	}
}

// needMounts skips a test that runs pods where the system permits no mounts, and one without openssl.
func needMounts(t *testing.T) {
	t.Helper()
	if os.Getenv("REVTAIL_TEST_OWN_NETWORK") == "" {
		t.Skip("the system permits no namespaces to the test, in which it mounts the volumes of pods")
	}
	installed(t, "openssl", "openssl")
}

// replaceMember loses the volume of a member of etcd, and runs the commands of the document for that.
func replaceMember(t *testing.T, r *reader, n *node) {
	t.Helper()
	lost := n.members[1]
	lost.kill(t)
	n.data[lost.name] = t.TempDir()
	var id string
	commands := 0
	for _, block := range section(t, kubernetesDocument, "The chart's etcd") {
		if !strings.Contains(block.Text, "member remove ID") {
			continue
		}
		for _, step := range block.Steps() {
			commands++
			command, inPod := strings.CutPrefix(step.Command, "kubectl --context my-cluster -n revtail exec ")
			switch {
			case strings.Contains(command, "member add"):
				gatewaytest.Until(t, "etcd, which changes members when those that are left were connected for five seconds", func() bool {
					_, err := n.try(t, command)
					return err == nil
				})
			case inPod:
				printed := n.exec(t, strings.Replace(command, "remove ID", "remove "+id, 1))
				for line := range strings.Lines(printed) {
					if fields := strings.Split(line, ", "); len(fields) > 2 && fields[2] == lost.name {
						id = fields[0]
					}
				}
			case strings.Contains(step.Command, " delete pvc/"): // the node does what follows from it: another volume, another pod
				n.replace(t, lost)
			default:
				r.do(t, step)
			}
		}
	}
	if commands != 5 || id == "" {
		t.Fatalf("the document has %d commands for a lost volume; the ID of the member is %q", commands, id)
	}
	lost.awaitReady(t)
	if printed := n.exec(t, lost.name+" -- etcdctl endpoint health --cluster"); strings.Count(printed, "is healthy") != 3 {
		t.Errorf("the members after the replacement of one:\n%s", printed)
	}
}

// runConsole runs the commands in the blocks of a section that are sessions; the other blocks need an image, nodes or another etcd.
func (r *reader) runConsole(t *testing.T, title string) {
	t.Helper()
	for _, block := range section(t, kubernetesDocument, title) {
		if block.Language != "console" {
			continue
		}
		for _, step := range block.Steps() {
			r.do(t, step)
		}
	}
}

func (r *reader) read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(r.folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// tls returns the configuration of a client that trusts an authority.
func (r *reader) tls(t *testing.T, authority, name string) *tls.Config {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(r.read(t, authority)) {
		t.Fatalf("%s has no certificate", authority)
	}
	return &tls.Config{RootCAs: pool, ServerName: name, MinVersion: tls.VersionTLS12}
}

// gateway returns the gateway of a pod, for the user with the token in a file.
func (r *reader) gateway(t *testing.T, p *pod, token string) *gatewaytest.Gateway {
	t.Helper()
	return &gatewaytest.Gateway{URL: "https://" + p.address + ":8443", Token: string(r.read(t, token)), TLS: r.tls(t, "ca.crt", "revtail.revtail.svc")}
}

// runSteps runs the commands of a session in pods.
func (n *node) runSteps(t *testing.T, block gatewaytest.Block) {
	t.Helper()
	if block.Language != "console" {
		return
	}
	for _, step := range block.Steps() {
		command, found := strings.CutPrefix(step.Command, "kubectl --context my-cluster -n revtail exec ")
		if !found {
			t.Fatalf("line %d: %s is not in a pod", step.Line, step.Command)
		}
		printed := n.exec(t, command)
		for _, want := range shownLines(step.Output) {
			shown := false
			for line := range strings.Lines(printed) {
				shown = shown || shows(want, strings.TrimSuffix(line, "\n"))
			}
			if !shown {
				t.Errorf("line %d: %s prints\n%s, want\n%s", step.Line, step.Command, printed, want)
			}
		}
	}
}

// checkGateways checks that the gateways serve lists and watches under the policy, and their metrics to Prometheus.
func checkGateways(t *testing.T, r *reader, n *node) {
	t.Helper()
	const maps = "/api/v1/namespaces/shop/configmaps"
	one, two := r.gateway(t, n.gateways[0], "token"), r.gateway(t, n.gateways[1], "token")
	watch := two.Watch(t, maps+"?watch=1")
	one.Create(t, maps, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"colours"},"data":{"theme":"red"}}`)
	if event := watch.Next(t); event.Type != "ADDED" || event.Object.Metadata.Name != "colours" {
		t.Errorf("the event at the other gateway: %s", event.Line)
	}
	for path, want := range map[string]int{maps: http.StatusOK, "/api/v1/namespaces/other/configmaps": http.StatusForbidden, "/metrics": http.StatusForbidden} {
		if answer := one.Do(t, http.MethodGet, path, ""); answer.Code != want {
			t.Errorf("%s: %d %s, want %d", path, answer.Code, answer.Body, want)
		}
	}
	if answer := one.As("").Do(t, http.MethodGet, maps, ""); answer.Code != http.StatusUnauthorized {
		t.Errorf("without a token: %d %s", answer.Code, answer.Body)
	}
	prometheus := r.gateway(t, n.gateways[0], "metrics")
	monitor := render(t, "--set", "monitoring.serviceMonitor=true")["ServiceMonitor/revtail"].Spec["endpoints"].([]any)[0].(map[string]any)
	prometheus.TLS.ServerName = monitor["tlsConfig"].(map[string]any)["serverName"].(string)
	if answer := prometheus.Do(t, http.MethodGet, monitor["path"].(string), ""); answer.Code != http.StatusOK || !strings.HasPrefix(prometheus.URL, monitor["scheme"].(string)+":") {
		t.Errorf("%v for Prometheus: %d %s", monitor, answer.Code, answer.Body)
	}
}

// checkHelmTest runs the pod of `helm test`. Instead of the Service it asks the gateway at the port behind it.
func checkHelmTest(t *testing.T, n *node) {
	t.Helper()
	said, code := helm(t, "template", "revtail", chart, "--show-only", "templates/tests/health.yaml", "--set", "service.port=8443")
	_, manifest, _ := strings.Cut(said, "---\n")
	var test corev1.Pod
	if err := yaml.UnmarshalStrict([]byte(manifest), &test); err != nil || code != 0 {
		t.Fatalf("%v\n%s", err, said)
	}
	p := newPod(t, &pod{name: test.Name, address: "127.0.1.30", spec: test.Spec}, n.images["revtail"], "", n.hosts, n.files(t, test.Spec))
	args := test.Spec.Containers[0].Args
	for _, c := range []struct {
		args []string
		code int
	}{{args, 0}, {slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return strings.HasPrefix(arg, "--cacert=") }), 1}} {
		cmd := p.command(t, append([]string{"revtail"}, c.args...)...)
		if output, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != c.code {
			t.Errorf("revtail %s: exit code %d, want %d\n%s", strings.Join(c.args, " "), cmd.ProcessState.ExitCode(), c.code, output)
		}
	}
}

// checkMembers checks that etcd serves without one of its members, shows its metrics, and knows its clients and peers by their certificates.
func checkMembers(t *testing.T, r *reader, n *node) {
	t.Helper()
	one := r.gateway(t, n.gateways[0], "token")
	n.members[1].kill(t)
	attempt := 0
	gatewaytest.Until(t, "a write without a member, which may have been the leader", func() bool {
		attempt++
		answer := one.Do(t, http.MethodPost, "/api/v1/namespaces/shop/configmaps", gatewaytest.ConfigMap(fmt.Sprint("attempt-", attempt), "1"))
		return answer.Code == http.StatusCreated
	})
	n.members[1].start(t)
	n.members[1].awaitReady(t)
	for _, member := range n.members {
		resp, err := http.Get("http://" + member.address + ":2381/metrics") //nolint:noctx,forbidigo // loopback
		if err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("metrics of %s: %v, %v", member.name, resp, err)
		}
		gateway, err := tls.X509KeyPair(r.read(t, "etcd/client.crt"), r.read(t, "etcd/client.key"))
		if err != nil {
			t.Fatal(err)
		}
		server, err := tls.X509KeyPair(r.read(t, "etcd/server.crt"), r.read(t, "etcd/server.key"))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			port, who string
			pair      *tls.Certificate
			accepted  bool
		}{
			{"2379", "a client without a certificate", nil, false}, {"2379", "a gateway", &gateway, true},
			{"2380", "a peer without a certificate", nil, false}, {"2380", "a gateway", &gateway, false}, {"2380", "a member", &server, true},
		} {
			config := r.tls(t, "etcd/ca.crt", member.name+".revtail-etcd")
			if c.pair != nil {
				config.Certificates = []tls.Certificate{*c.pair}
			}
			if err := handshake(member.address+":"+c.port, config); (err == nil) != c.accepted {
				t.Errorf("%s at %s:%s: %v", c.who, member.name, c.port, err)
			}
		}
	}
}

// handshake connects, and reads until the server refuses the certificate or answers a request.
func handshake(address string, config *tls.Config) error {
	conn, err := tls.Dial("tcp", address, config) //nolint:noctx // loopback
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("GET /version HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\n\r\n")); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1))
	return err
}
