package gatewaytest

import (
	"crypto/tls"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"revtail/gateway/gatewaytest/program"
)

// Gateway is a revtail process. Its methods fail the test on an error.
type Gateway struct {
	// URL is its URL, without a slash at the end. It does not change over restarts.
	URL string
	// More are its other URLs, of --listen among the arguments.
	More []string
	// TLS is the configuration of clients for HTTPS; the test has to set it.
	TLS *tls.Config
	// Token is sent with each request; empty: none.
	Token string
	// ReadyLine is the line that it printed when it was ready.
	ReadyLine string
	// EtcdEndpoint is the URL of its embedded etcd; empty: none.
	EtcdEndpoint string

	*process
	command []string
}

// Start starts a gateway on a free port and waits until it is ready. It has an embedded etcd with a data directory of its
// own, unless the arguments have --etcd-endpoints or --embedded-config. It ends with the test.
func Start(tb testing.TB, args ...string) *Gateway {
	tb.Helper()
	return StartIn(tb, nil, args...)
}

// StartIn is Start by a program that executes its last arguments, for example a shell with a limit.
func StartIn(tb testing.TB, wrapper []string, args ...string) *Gateway {
	tb.Helper()
	address := program.FreeAddress()
	g := &Gateway{URL: "http://" + address}
	if slices.Contains(args, "--tls-cert-file") {
		g.URL = "https://" + address
	}
	g.command = append(slices.Clone(wrapper), Binary(tb), "serve", "--listen", address, "--log-level", "debug", "--log-format", "json")
	if !slices.Contains(args, "--etcd-endpoints") && !slices.Contains(args, "--embedded-config") {
		g.EtcdEndpoint = "http://" + program.FreeAddress()
		g.command = append(g.command, "--embedded-client-url", g.EtcdEndpoint, "--data-dir", filepath.Join(tb.TempDir(), "data"))
	}
	g.command = append(g.command, args...)
	g.launch(tb, filepath.Join(tb.ArtifactDir(), "revtail-"+address[len("127.0.0.1:"):]+".log"))
	return g
}

// StartAsDocumented starts `revtail serve` in a folder with these arguments and no others, as a reader of the documents does: at
// 127.0.0.1:8080, with an etcd at 127.0.0.1:2379. Call it within InOwnNetwork. It ends with the test.
func StartAsDocumented(tb testing.TB, folder string, args ...string) *Gateway {
	tb.Helper()
	g := &Gateway{URL: "http://" + documented[0], EtcdEndpoint: "http://" + documented[1]}
	g.command = append([]string{Binary(tb), "serve"}, args...)
	g.launch(tb, filepath.Join(folder, "revtail.log"))
	return g
}

// As returns the gateway for another user: with this token, and TLS with this certificate if there is one.
func (g *Gateway) As(token string, certificate ...tls.Certificate) *Gateway {
	other := *g
	other.Token = token
	if g.TLS != nil {
		other.TLS = g.TLS.Clone()
		other.TLS.Certificates = certificate
	}
	return &other
}

// Restart starts the gateway again after Stop or Kill, with the same address and the same data.
func (g *Gateway) Restart(tb testing.TB) {
	tb.Helper()
	g.launch(tb, g.log)
}

var readyLine = regexp.MustCompile(`^READY http=(\S+) etcd=(\S+) revision=([1-9][0-9]*)( data=\S+ mode=\S+)?$`)

func (g *Gateway) launch(tb testing.TB, log string) {
	tb.Helper()
	g.process = launch(tb, "revtail at "+g.URL, log, g.command...)
	select {
	case line := <-g.out.first:
		ready := readyLine.FindStringSubmatch(line)
		if ready == nil {
			tb.Fatalf("ready line %q: want one with http=%s", line, g.URL)
		}
		urls := strings.Split(ready[1], ",")
		if urls[0] != g.URL {
			tb.Fatalf("ready line %q: want one with http=%s", line, g.URL)
		}
		g.More, g.ReadyLine = urls[1:], line
	case <-g.ended:
		tb.Fatalf("%s ended before it was ready, with code %d", g.name, g.cmd.ProcessState.ExitCode())
	case <-time.After(Patience):
		tb.Fatalf("%s is not ready after %v", g.name, Patience)
	}
}
