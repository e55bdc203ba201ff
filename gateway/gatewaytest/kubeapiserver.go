package gatewaytest

import (
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest/program"
)

// KubeAPIServer is a kube-apiserver process. It grants an administrator everything, and runs without controllers.
type KubeAPIServer struct {
	// URL is its URL, without a slash at the end.
	URL string
	// Token is the administrator's token.
	Token string
	// TLS is the configuration of clients, and CA the PEM of the authority that it trusts.
	TLS *tls.Config
	CA  []byte

	*process
	command []string
}

// Restart starts a kube-apiserver again after Stop or Kill, with the same address, and waits until it is ready.
func (s *KubeAPIServer) Restart(tb testing.TB) {
	tb.Helper()
	s.process = launch(tb, s.name, s.log, s.command...)
	Until(tb, "a kube-apiserver that is ready again", func() bool { return s.isReady(tb) })
}

// StartKubeAPIServer starts a kube-apiserver over an etcd, with more arguments if there are any, and waits until it is ready and has
// created the objects of every cluster. It ends with the test.
func StartKubeAPIServer(tb testing.TB, endpoints string, args ...string) *KubeAPIServer {
	tb.Helper()
	binary, address, authority, dir := Tool(tb, "kube-apiserver"), program.FreeAddress(), NewAuthority(tb, "kube-apiserver"), tb.TempDir()
	server := &KubeAPIServer{URL: "https://" + address, Token: "administrator", TLS: &tls.Config{RootCAs: authority.Pool()}, CA: authority.PEM}
	write := func(name string, content []byte) (path string) {
		path = filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			tb.Fatal(err)
		}
		return path
	}
	pair := authority.Issue(tb, "localhost")
	cert, key := write("tls.crt", pair.Cert), write("tls.key", pair.Key)
	command := append([]string{
		binary, "--etcd-servers", endpoints,
		"--bind-address", "127.0.0.1", "--secure-port", address[strings.LastIndexByte(address, ':')+1:],
		"--advertise-address", "192.0.2.1", // because it refuses one of loopback; it is not used
		"--tls-cert-file", cert, "--tls-private-key-file", key, "--cert-dir", dir,
		"--token-auth-file", write("tokens", []byte(server.Token+`,admin,admin,"system:masters"`)),
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", cert, "--service-account-signing-key-file", key,
		"--service-cluster-ip-range", "10.0.0.0/24",
	}, args...)
	if !slices.Contains(args, "--disable-admission-plugins") {
		command = append(command, "--disable-admission-plugins", "ServiceAccount") // because the service accounts of pods are not created
	}
	if !slices.Contains(args, "--authorization-mode") {
		command = append(command, "--authorization-mode", "RBAC")
	}
	server.command = command
	server.process = launch(tb, "kube-apiserver at "+server.URL, filepath.Join(tb.ArtifactDir(), "kube-apiserver.log"), command...)
	Until(tb, "a kube-apiserver that is ready", func() bool { return server.isReady(tb) })
	return server
}

func (s *KubeAPIServer) isReady(tb testing.TB) bool {
	tb.Helper()
	select {
	case <-s.ended:
		tb.Fatalf("%s ended before it was ready, with code %d", s.name, s.cmd.ProcessState.ExitCode())
	default:
	}
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, s.URL+"/readyz", nil)
	if err != nil {
		tb.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token)
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: s.TLS}}).Do(req)
	if err != nil {
		return false // it does not listen yet
	}
	_ = resp.Body.Close() // only the code matters
	return resp.StatusCode == http.StatusOK
}
