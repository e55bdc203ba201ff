package gatewaytest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// throughSocket makes a client that connects to a socket for each request, whatever the host of a URL. It wants no compression, which needs a
// goroutine for each watch.
func throughSocket(path string) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
}

// getThrough sends a GET request through a socket. The test closes the body at its end.
func getThrough(t *testing.T, socket, url string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := throughSocket(socket).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// TestSocketWatches checks that event loops serve watches through a unix socket: many watches need hardly more goroutines than none.
func TestSocketWatches(t *testing.T) {
	t.Parallel()
	socket, file := filepath.Join(t.TempDir(), "gw.sock"), filepath.Join(t.TempDir(), "audit.log")
	gw := gatewaytest.Start(t, "--listen", "unix://"+socket, "--audit-log-path", file)
	if info, err := os.Lstat(socket); err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Fatalf("the socket: %v, %v", info, err)
	}
	goroutines := func() int {
		n, err := strconv.Atoi(gw.Do(t, http.MethodGet, "/metrics", "").Metric("go_goroutines"))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	gw.Create(t, configMaps, gatewaytest.ConfigMap("first", "1"))
	before := goroutines()
	const many = 200
	streams := make([]*json.Decoder, many)
	next := func(i int, name string) {
		t.Helper()
		var event gatewaytest.Event
		if err := streams[i].Decode(&event); err != nil || event.Type != "ADDED" || event.Object.Metadata.Name != name {
			t.Fatalf("watch %d: %+v, %v; want %s", i, event, err, name)
		}
	}
	for i := range streams {
		resp := getThrough(t, socket, "http://localhost"+configMaps+"?watch=1")
		if resp.StatusCode != 200 {
			t.Fatal(resp.Status)
		}
		streams[i] = json.NewDecoder(bufio.NewReader(resp.Body))
		next(i, "first")
	}
	gatewaytest.Until(t, fmt.Sprintf("no more than %d goroutines", before+many/2), func() bool { return goroutines() < before+many/2 })
	gw.Create(t, configMaps, gatewaytest.ConfigMap("second", "1"))
	for i := range streams {
		next(i, "second")
	}
	list, err := io.ReadAll(getThrough(t, socket, "http://localhost"+configMaps).Body)
	if err != nil || strings.Count(string(list), `"uid"`) != 2 {
		t.Errorf("a list through the socket: %s, %v", list, err)
	}
	if resp := getThrough(t, socket, "http://evil.example.com"+configMaps); resp.StatusCode != 403 {
		t.Errorf("with a foreign Host: %s", resp.Status)
	}
	if records, err := os.ReadFile(file); err != nil || !strings.Contains(string(records), `"sourceIPs":["unix"]`) {
		t.Errorf("the audit log has no address of the socket's clients: %.1000s, %v", records, err)
	}
}

// TestSocketUsersAreOneAddress checks that anonymous users of a socket share the limit of watches of one address.
func TestSocketUsersAreOneAddress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	socket, policy := filepath.Join(dir, "gw.sock"), filepath.Join(dir, "policy.yaml")
	replaceFile(t, policy, []byte(bind("system:anonymous", "cluster-admin")))
	gw := gatewaytest.Start(t, "--listen", "unix://"+socket, "--anonymous", "--policy-file", policy, "--max-watches-per-user", "2", "--max-connections-per-address", "1")
	for i, code := range []int{200, 200, 429} {
		if resp := getThrough(t, socket, "http://localhost"+configMaps+"?watch=1"); resp.StatusCode != code {
			t.Errorf("watch %d: %s, want %d", i+1, resp.Status, code)
		}
	}
	gw.Watch(t, configMaps+"?watch=1") // from another address
}

// TestEmbeddedEtcdHasNoPort checks that with authentication or a policy the gateway's own listener is the only one of the process, because
// the embedded etcd has no authentication, and that the user of the process reaches etcd by its socket.
func TestEmbeddedEtcdHasNoPort(t *testing.T) {
	gatewaytest.InOwnNetwork(t, func(t *testing.T) {
		dir := t.TempDir()
		tokens, policy := filepath.Join(dir, "tokens.yaml"), filepath.Join(dir, "policy.yaml")
		replaceFile(t, tokens, []byte("apiVersion: revtail/v1\ntokens: []\n"))
		replaceFile(t, policy, []byte(bind("system:anonymous", "cluster-admin")))
		for name, tt := range map[string]struct {
			args  []string
			ports string
		}{
			"nothing":           {nil, "1F90 094B"}, // 8080 and 2379
			"tokens":            {[]string{"--token-file", tokens}, "1F90"},
			"a policy":          {[]string{"--policy-file", policy, "--anonymous"}, "1F90"},
			"tokens and a port": {[]string{"--token-file", tokens, "--embedded-client-url", "http://127.0.0.1:2379"}, "1F90 094B"},
		} {
			folder := filepath.Join(t.TempDir(), "folder")
			if err := os.Mkdir(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			gw := gatewaytest.StartAsDocumented(t, folder, tt.args...)
			if got := listeningPorts(t); got != tt.ports {
				t.Errorf("%s: the ports are %q, want %q", name, got, tt.ports)
			}
			socket := filepath.Join(folder, "revtail.etcd", "client", "etcd.sock")
			if tt.ports == "1F90" {
				if resp := getThrough(t, socket, "http://localhost/health"); resp.StatusCode != 200 {
					t.Errorf("%s: etcd's health by its socket: %s", name, resp.Status)
				}
				if info, err := os.Stat(filepath.Dir(socket)); err != nil || info.Mode().Perm() != 0o700 {
					t.Errorf("%s: the folder of the socket: %v, %v; want mode 700", name, info, err)
				}
			}
			if code := gw.Stop(t); code != 0 {
				t.Errorf("%s: exit code %d", name, code)
			}
			if _, err := os.Lstat(socket); err == nil {
				t.Errorf("%s: the socket is there after the end", name)
			}
		}
	})
}

// listeningPorts returns the TCP ports of this network, in hexadecimal digits and descending order.
func listeningPorts(t *testing.T) string {
	t.Helper()
	var ports []string
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if fields := strings.Fields(line); len(fields) > 3 && fields[3] == "0A" { // LISTEN
				_, port, _ := strings.Cut(fields[1], ":")
				ports = append(ports, port)
			}
		}
	}
	slices.Sort(ports)
	slices.Reverse(ports)
	return strings.Join(ports, " ")
}
