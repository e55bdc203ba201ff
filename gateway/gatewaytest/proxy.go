package gatewaytest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest/program"
)

// proxies are the proxies with a configuration in deploy, by its file.
var proxies = map[string]struct {
	program, debian string   // its name, and its package
	listen, listens string   // the address in the file, and with another one for %s
	wrapper         string   // the file that includes it; %s is its path; empty: it is complete
	args            []string // before the path
}{
	"nginx.conf": {"nginx", "nginx-light", "listen 8080", "listen %s", `
daemon off;
master_process off;
pid nginx.pid;
events { worker_connections 1000; }
http {
	access_log off;
	client_body_temp_path body;
	proxy_temp_path proxy;
	fastcgi_temp_path fastcgi;
	uwsgi_temp_path uwsgi;
	scgi_temp_path scgi;
	include %s;
}
`, []string{"-e", "stderr", "-p", ".", "-c"}},
	"haproxy.cfg": {"haproxy", "haproxy", "bind :8080 ", "bind %s ", "", []string{"-db", "-f"}},
	"Caddyfile":   {"caddy", "caddy", "\n:8080 {", "\nhttp://%s {", "{\n\tadmin off\n}\nimport %s\n", []string{"run", "--adapter", "caddyfile", "--config"}},
}

// StartProxy runs nginx, HAProxy or Caddy with a file of deploy before two gateways; pairs of old and new text change the file. It returns
// the proxy as a gateway, whose address accepts connections, and which ends with the test. If the program is missing the test is skipped,
// and names the remedy.
func StartProxy(tb testing.TB, file string, first, second *Gateway, changes ...string) *Gateway {
	tb.Helper()
	p, known := proxies[file]
	if !known {
		tb.Fatalf("no proxy has %s", file)
	}
	binary, err := exec.LookPath(p.program)
	if err != nil {
		binary, err = exec.LookPath("/usr/sbin/" + p.program)
	}
	if err != nil {
		tb.Skipf("%v: install Debian's %s to test deploy/%s", err, p.debian, file)
	}
	address := program.FreeAddress()
	host := func(g *Gateway) string { return strings.TrimPrefix(g.URL, "http://") }
	changes = append(slices.Clone(changes),
		p.listen, fmt.Sprintf(p.listens, address), "gateway-1:8080", host(first), "gateway-2:8080", host(second))
	dir := tb.TempDir()
	path := filepath.Join(dir, file)
	if err := os.WriteFile(path, []byte(changed(tb, file, changes)), 0o600); err != nil {
		tb.Fatal(err)
	}
	if p.wrapper != "" {
		wrapper := filepath.Join(dir, "wrapper")
		if err := os.WriteFile(wrapper, fmt.Appendf(nil, p.wrapper, path), 0o600); err != nil {
			tb.Fatal(err)
		}
		path = wrapper
	}
	command := append(append([]string{binary}, p.args...), path)
	g := &Gateway{URL: "http://" + address, process: launch(tb, p.program, filepath.Join(dir, "log"), command...)}
	Until(tb, p.program+" listening", func() bool {
		select {
		case <-g.ended:
			tb.Fatalf("%s ended", p.program)
		default:
		}
		conn, err := new(net.Dialer).DialContext(tb.Context(), "tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return g
}

// changed returns a file of deploy after the changes, each of which must match.
func changed(tb testing.TB, file string, changes []string) string {
	tb.Helper()
	root, err := moduleRoot(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(root, "deploy", file))
	if err != nil {
		tb.Fatal(err)
	}
	text := string(content)
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(text, changes[i]) {
			tb.Fatalf("deploy/%s has no %q", file, changes[i])
		}
		text = strings.ReplaceAll(text, changes[i], changes[i+1])
	}
	return text
}
