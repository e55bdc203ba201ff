package gatewaytest_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// openFile runs `revtail open` until the test ends, and returns its ready line.
func openFile(t *testing.T, args ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, gatewaytest.Binary(t), append([]string{"open"}, args...)...)
	cmd.Env, cmd.Stderr = withoutOptions(), os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		_ = cmd.Wait() // its error is the end of ctx
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("revtail open has no ready line: %v", err)
	}
	return line
}

// TestOpenKubeAPIServer opens a snapshot that etcdctl saved of the etcd of a kube-apiserver: it is recognized, no value of a Secret is
// shown, also not in the protobuf of the keys, and the file stays as it is.
func TestOpenKubeAPIServer(t *testing.T) {
	t.Parallel()
	etcdctl := gatewaytest.Tool(t, "etcdctl")
	cluster := gatewaytest.StartEtcd(t, 1)
	server := gatewaytest.StartKubeAPIServer(t, cluster.Endpoints())
	const password = "correct horse battery staple"
	applyToServer(t, server, "/api/v1/namespaces/default/secrets/web", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"web"},"stringData":{"password":"`+password+`"}}`)
	file := filepath.Join(t.TempDir(), "backup.db")
	if out, err := exec.CommandContext(t.Context(), etcdctl, "--endpoints", cluster.Endpoints(), "snapshot", "save", file).CombinedOutput(); err != nil {
		t.Fatalf("etcdctl: %v\n%s", err, out)
	}
	before := sumOf(t, file)
	for _, redact := range []string{"secrets", "none"} {
		line := openFile(t, file, "--redact", redact)
		match := regexp.MustCompile(`^READY http=(\S+) etcd=\S+ revision=\d+ data=kube-apiserver mode=read-only prefix=/registry keys=\d+ revisions=1-\d+\n$`).FindStringSubmatch(line)
		if match == nil {
			t.Fatalf("ready line %q", line)
		}
		value := keyValue(t, match[1]+"/v1/keys/registry/secrets/default/web?encoding=base64")
		if shown := bytes.Contains(value, []byte(password)); shown != (redact == "none") || !bytes.HasPrefix(value, []byte("k8s\x00")) {
			t.Errorf("--redact %s: the key has %q", redact, value)
		}
	}
	if sumOf(t, file) != before {
		t.Error("the file has changed")
	}
}

// applyToServer applies an object to a kube-apiserver.
func applyToServer(t *testing.T, server *gatewaytest.KubeAPIServer, path, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, server.URL+path+"?fieldManager=test", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+server.Token)
	req.Header.Set("Content-Type", "application/apply-patch+yaml")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: server.TLS}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if answer, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s: %s %s (%v)", path, resp.Status, answer, err)
	}
}

var inBase64 = regexp.MustCompile(`"value": ?"([^"]*)"`)

// keyValue reads the value of a key that is shown in base64.
func keyValue(t *testing.T, url string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	match := inBase64.FindSubmatch(text)
	if err != nil || match == nil {
		t.Fatalf("%s: %s (%v)", url, text, err)
	}
	value, err := base64.StdEncoding.DecodeString(string(match[1]))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func sumOf(t *testing.T, file string) [sha256.Size]byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(content)
}
