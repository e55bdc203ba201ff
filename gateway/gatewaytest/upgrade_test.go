package gatewaytest_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"

	"revtail/gateway/gatewaytest"
)

// kubectlClient is a kubectl with the credential of a user, for one server and one protocol of streams.
type kubectlClient struct {
	program, folder string
	config          *rest.Config
	webSocket       bool
	env             []string
}

// TestBehindUpgrades checks exec, attach, cp, logs and port-forward of kubectl through the gateway, which forwards them to the kube-apiserver, and
// that to a kubelet: by WebSocket and by SPDY, for users with a token and with a certificate. The same is checked without the gateway.
func TestBehindUpgrades(t *testing.T) {
	t.Parallel()
	program := gatewaytest.Tool(t, "kubectl")
	b := startBehind(t)
	k := startKubelet(t)
	b.schedule(t, k)
	dir := t.TempDir()
	for server, config := range map[string]rest.Config{
		"direct":  {Host: b.kube.URL, TLSClientConfig: rest.TLSClientConfig{CAData: b.kube.CA}},
		"gateway": {Host: b.gateway.URL, TLSClientConfig: rest.TLSClientConfig{CAData: b.gatewayCA}},
	} {
		for _, user := range []string{"token", "certificate"} {
			if server == "direct" && user == "certificate" {
				continue // the stand-in is what is checked here
			}
			for _, protocol := range []string{"websocket", "spdy"} {
				t.Run(server+"/"+user+"/"+protocol, func(t *testing.T) {
					c := newKubectlClient(t, program, filepath.Join(dir, server+user+protocol), config, protocol == "websocket")
					if user == "token" {
						c.authenticate(t, "bob-token", nil)
					} else {
						c.authenticate(t, "", &b.carol)
					}
					before := b.webSockets(t)
					c.checkExec(t)
					c.checkTerminal(t)
					c.checkAttach(t)
					c.checkCopy(t, k)
					c.checkLogs(t, k)
					c.checkPortForward(t)
					if grown := b.webSockets(t) - before; (grown >= 6) != c.webSocket || grown > 0 != c.webSocket {
						t.Errorf("the kube-apiserver has counted %d WebSockets", grown)
					}
				})
			}
		}
	}
	if log := b.gateway.Log(t); !regexp.MustCompile(`"path":"/api/v1/namespaces/a/pods/web/exec",.*"status":101,`).MatchString(log) {
		t.Error("the log of the gateway has no upgrade with its status, 101")
	}
	t.Run("without the right", func(t *testing.T) { b.checkDenied(t, program, dir) })
}

// checkDenied checks what kubectl says to alice, who may see the Pod and nothing more.
func (b *behind) checkDenied(t *testing.T, program, dir string) {
	t.Helper()
	admin := b.direct(b.kube.Token)
	admin.Create(t, rbacPath+"/namespaces/a/roles", `{"metadata":{"name":"viewer"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]}`)
	admin.Create(t, rbacPath+"/namespaces/a/rolebindings", `{"metadata":{"name":"viewer"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"viewer"},`+
		`"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"alice"}]}`)
	for _, webSocket := range []bool{true, false} {
		c := newKubectlClient(t, program, filepath.Join(dir, fmt.Sprint(webSocket)), rest.Config{Host: b.gateway.URL, TLSClientConfig: rest.TLSClientConfig{CAData: b.gatewayCA}}, webSocket)
		c.authenticate(t, "alice-token", nil)
		for subresource, args := range map[string][]string{"exec": {"web", "--", "true"}, "attach": {"web"}, "portforward": {"web", ":80"}, "log": {"web"}} {
			verb := map[string]string{"portforward": "port-forward", "log": "logs"}[subresource]
			_, errs, code := c.run(t, nil, append([]string{cmp.Or(verb, subresource)}, args...)...)
			if code != 1 || !strings.Contains(errs, `User "alice" cannot`) || !strings.Contains(errs, `resource "pods/`+subresource+`"`) {
				t.Errorf("%s: %d %s", subresource, code, errs)
			}
		}
	}
}

// TestBehindUpgradesEnd checks that the streams of a gateway that drains end, and that the gateway ends with them.
func TestBehindUpgradesEnd(t *testing.T) {
	t.Parallel()
	program := gatewaytest.Tool(t, "kubectl")
	b := startBehind(t)
	b.schedule(t, startKubelet(t))
	c := newKubectlClient(t, program, t.TempDir(), rest.Config{Host: b.gateway.URL, TLSClientConfig: rest.TLSClientConfig{CAData: b.gatewayCA}}, true)
	c.authenticate(t, "bob-token", nil)
	running := c.start(t, "exec", "-i", "web", "--", "cat")
	running.say(t, "one\n")
	running.want(t, "one\n")
	if code := b.gateway.Stop(t); code != 0 {
		t.Errorf("the gateway ended with code %d", code)
	}
	if code := running.exitCode(t); code == 0 {
		t.Error("kubectl takes the end of the gateway for that of the command")
	}
}

// schedule makes a node of a kubelet, a running Pod on it, and lets carol do everything.
func (b *behind) schedule(t *testing.T, k *kubelet) {
	t.Helper()
	admin := b.direct(b.kube.Token)
	admin.Create(t, "/api/v1/nodes", `{"metadata":{"name":"node"},"status":{"addresses":[{"type":"InternalIP","address":"127.0.0.1"}],"daemonEndpoints":{"kubeletEndpoint":{"Port":`+strconv.Itoa(k.port)+`}}}}`)
	admin.Create(t, "/api/v1/namespaces/a/pods", `{"metadata":{"name":"web"},"spec":{"nodeName":"node","containers":[{"name":"main","image":"i","stdin":true,"ports":[{"containerPort":80}]}]}}`)
	admin.Patch(t, "/api/v1/namespaces/a/pods/web/status", `{"status":{"phase":"Running"}}`)
	admin.Create(t, rbacPath+"/clusterrolebindings", `{"metadata":{"name":"carol"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},`+
		`"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"carol"}]}`)
}

var webSocketRequests = regexp.MustCompile(`(?m)^apiserver_stream_(?:translator|tunnel)_requests_total\{.*\} (\d+)$`)

// webSockets returns how many streams the kube-apiserver has got by WebSocket.
func (b *behind) webSockets(t *testing.T) (sum int) {
	t.Helper()
	for _, found := range webSocketRequests.FindAllStringSubmatch(b.direct(b.kube.Token).Do(t, http.MethodGet, "/metrics", "").Body, -1) {
		n, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// newKubectlClient returns a kubectl that has no credential yet. It keeps its files in a folder.
func newKubectlClient(t *testing.T, program, folder string, config rest.Config, webSocket bool) *kubectlClient {
	t.Helper()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	on := strconv.FormatBool(webSocket)
	return &kubectlClient{program: program, folder: folder, config: &config, webSocket: webSocket,
		env: append(os.Environ(), "KUBECONFIG="+filepath.Join(folder, "config"), "KUBECTL_REMOTE_COMMAND_WEBSOCKETS="+on, "KUBECTL_PORT_FORWARD_WEBSOCKETS="+on)}
}

// authenticate writes the kubeconfig, with a token or a certificate.
func (c *kubectlClient) authenticate(t *testing.T, token string, certificate *tls.Certificate) {
	t.Helper()
	c.config.BearerToken = token
	flags := []string{"--token=" + token}
	if certificate != nil {
		key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
		if err != nil {
			t.Fatal(err)
		}
		c.config.CertData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})
		c.config.KeyData = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})
		cert, private := gatewaytest.Pair{Cert: c.config.CertData, Key: c.config.KeyData}.Write(t, c.folder, "client")
		flags = []string{"--client-certificate=" + cert, "--client-key=" + private}
	}
	authority := filepath.Join(c.folder, "ca.crt")
	if err := os.WriteFile(authority, c.config.CAData, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"set-cluster", "c", "--server=" + c.config.Host, "--certificate-authority=" + authority},
		append([]string{"set-credentials", "u"}, flags...),
		{"set-context", "c", "--cluster=c", "--user=u", "--namespace=a"},
		{"use-context", "c"},
	} {
		if _, errs, code := c.run(t, nil, append([]string{"config"}, args...)...); code != 0 {
			t.Fatalf("kubectl config %v: %s", args, errs)
		}
	}
}

func (c *kubectlClient) command(t *testing.T, args ...string) (*exec.Cmd, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), gatewaytest.Patience)
	command := exec.CommandContext(ctx, c.program, append([]string{"--cache-dir", filepath.Join(c.folder, "cache")}, args...)...) //nolint:gosec // the arguments are those of the tests
	command.Env, command.Dir = c.env, c.folder
	return command, cancel
}

// run runs kubectl with an input until it ends.
func (c *kubectlClient) run(t *testing.T, in []byte, args ...string) (out, errs string, code int) {
	t.Helper()
	command, cancel := c.command(t, args...)
	defer cancel()
	var stdout, stderr bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(in), &stdout, &stderr
	if err := command.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String(), command.ProcessState.ExitCode()
}

// conversation is a kubectl that a test speaks with.
type conversation struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// start starts a kubectl. It ends with the test.
func (c *kubectlClient) start(t *testing.T, args ...string) *conversation {
	t.Helper()
	command, cancel := c.command(t, args...)
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cancel)
	return &conversation{command, in, bufio.NewReader(out)}
}

func (s *conversation) say(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(s.in, text); err != nil {
		t.Fatal(err)
	}
}

func (s *conversation) want(t *testing.T, line string) {
	t.Helper()
	if got, err := s.out.ReadString('\n'); got != line || err != nil {
		t.Fatalf("%q %v, want %q", got, err, line)
	}
}

// exitCode closes the input and returns the code that kubectl ends with.
func (s *conversation) exitCode(t *testing.T) int {
	t.Helper()
	_ = s.in.Close() // kubectl may have ended
	if _, err := io.Copy(io.Discard, s.out); err != nil {
		t.Fatal(err)
	}
	if err := s.command.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return s.command.ProcessState.ExitCode()
}

// randomBytes returns bytes that are not compressible.
func randomBytes(n int) []byte {
	source := rand.NewChaCha8([32]byte{1})
	out := make([]byte, n)
	_, _ = source.Read(out) // it never fails
	return out
}

// checkExec checks the output, the errors and the exit code of a command, a large input, and an output that answers the input.
func (c *kubectlClient) checkExec(t *testing.T) {
	t.Helper()
	out, errs, code := c.run(t, nil, "exec", "web", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
	if out != "out\n" || errs != "err\ncommand terminated with exit code 7\n" || code != 7 {
		t.Errorf("exec: %q %q %d", out, errs, code)
	}
	large := randomBytes(4 << 20)
	if out, errs, code = c.run(t, large, "exec", "-i", "web", "--", "cat"); out != string(large) || code != 0 {
		t.Errorf("exec -i: %d bytes of %d, %q %d", len(out), len(large), errs, code)
	}
	if out, errs, code = c.run(t, nil, "exec", "web", "-c", "other", "--", "true"); code != 1 || !strings.Contains(errs, "container not found") && !strings.Contains(errs, "container other is not valid") {
		t.Errorf("exec in a container that is not there: %q %q %d", out, errs, code)
	}
	shell := c.start(t, "exec", "-i", "web", "--", "cat")
	for _, line := range []string{"one\n", "two\n"} {
		shell.say(t, line)
		shell.want(t, line)
	}
	if code := shell.exitCode(t); code != 0 {
		t.Errorf("exec -i ends with code %d", code)
	}
}

// windowSizes are the sizes of a terminal, one after the other.
type windowSizes struct{ next uint16 }

// Next implements remotecommand.TerminalSizeQueue.
func (s *windowSizes) Next() *remotecommand.TerminalSize {
	if s.next++; s.next > 2 {
		return nil
	}
	return &remotecommand.TerminalSize{Width: 80 * s.next, Height: 24 * s.next}
}

// checkTerminal checks that the sizes of a terminal arrive. kubectl needs a terminal of its own for that, client-go does not.
func (c *kubectlClient) checkTerminal(t *testing.T) {
	t.Helper()
	target, err := url.Parse(c.config.Host + "/api/v1/namespaces/a/pods/web/exec?command=top&stdin=true&stdout=true&tty=true")
	if err != nil {
		t.Fatal(err)
	}
	executor, err := remotecommand.NewSPDYExecutor(c.config, http.MethodPost, target)
	if c.webSocket {
		executor, err = remotecommand.NewWebSocketExecutor(c.config, http.MethodGet, target.String())
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), gatewaytest.Patience)
	defer cancel()
	in, end := io.Pipe()
	defer func() { _ = end.Close() }() // a pipe does not fail
	var out bytes.Buffer
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: in, Stdout: &out, Tty: true, TerminalSizeQueue: &windowSizes{}})
	if err != nil || out.String() != "80x24\r\n160x48\r\n" {
		t.Errorf("a terminal: %q %v", out.String(), err)
	}
}

// checkAttach checks that the input of a container comes back.
func (c *kubectlClient) checkAttach(t *testing.T) {
	t.Helper()
	container := c.start(t, "attach", "-i", "-q", "web")
	container.want(t, "attached\n")
	container.say(t, "one\n")
	container.want(t, "one\n")
	if code := container.exitCode(t); code != 0 {
		t.Errorf("attach ends with code %d", code)
	}
}

// checkCopy copies a file to a container, and back.
func (c *kubectlClient) checkCopy(t *testing.T, k *kubelet) {
	t.Helper()
	content := randomBytes(3 << 20)
	sent, name := filepath.Join(c.folder, "sent"), filepath.Base(c.folder)
	if err := os.WriteFile(sent, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := c.run(t, nil, "cp", "sent", "web:"+name); code != 0 || readFile(t, filepath.Join(k.folder, name)) != string(content) {
		t.Errorf("cp to a container: %d %s", code, errs)
	}
	if _, errs, code := c.run(t, nil, "cp", "web:"+name, "got"); code != 0 || readFile(t, filepath.Join(c.folder, "got")) != string(content) {
		t.Errorf("cp from a container: %d %s", code, errs)
	}
}

// checkLogs checks that a line of a followed log comes before the log ends.
func (c *kubectlClient) checkLogs(t *testing.T, k *kubelet) {
	t.Helper()
	if out, errs, code := c.run(t, nil, "logs", "web"); out != "first\nsecond\n" || code != 0 {
		t.Errorf("logs: %q %q %d", out, errs, code)
	}
	log := c.start(t, "logs", "-f", "web")
	log.want(t, "first\n")
	select {
	case k.proceed <- struct{}{}:
	case <-t.Context().Done():
		t.Fatal("the kubelet serves no log")
	}
	log.want(t, "second\n")
	if code := log.exitCode(t); code != 0 {
		t.Errorf("logs -f ends with code %d", code)
	}
}

var forwarding = regexp.MustCompile(`^Forwarding from 127\.0\.0\.1:(\d+) -> 80\n$`)

// checkPortForward sends requests to the server in a Pod, on several connections of one stream.
func (c *kubectlClient) checkPortForward(t *testing.T) {
	t.Helper()
	tunnel := c.start(t, "port-forward", "--address", "127.0.0.1", "pod/web", ":80")
	line, err := tunnel.out.ReadString('\n')
	found := forwarding.FindStringSubmatch(line)
	if err != nil || found == nil {
		t.Fatalf("port-forward: %q %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, tunnel.out) }() // kubectl tells about each connection
	body := randomBytes(1 << 20)
	g := &gatewaytest.Gateway{URL: "http://127.0.0.1:" + found[1]}
	for i := range 5 {
		path := fmt.Sprintf("/%d", i)
		if answer := g.Do(t, http.MethodPost, path, string(body)); answer.Code != http.StatusOK || answer.Body != path+"\n"+string(body) {
			t.Errorf("port-forward: %d, %d bytes of %d", answer.Code, len(answer.Body), len(body))
		}
	}
	if err := tunnel.command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := tunnel.command.Wait(); err != nil {
		t.Errorf("port-forward ends with %v", err)
	}
}
