package gateway

import (
	"context"
	"encoding/pem"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/embedded"
	"revtail/gateway/config/buildinfo"
	"revtail/gateway/watch/transport"
)

// TestContractWithoutParts runs the conformance suite on servers without an optional part. The suite runs on a complete server in its own
// package. The servers do not run side by side, because the suite counts the goroutines of the process.
func TestContractWithoutParts(t *testing.T) {
	if testing.Short() {
		t.Skip("the suite takes minutes under the race detector: `make test` runs it without the optional parts, and `make race` on a complete server")
	}
	suite := filepath.Join(t.TempDir(), "conformance")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", suite, "./gatewaytest/conformance").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, test := range []struct {
		name   string
		secure bool // over TLS, and HTTP/2
	}{
		{name: "HTTP1 without the event loop"},
		{name: "HTTP2 without frames of our own", secure: true}, // the event loop serves no watch of net/http
	} {
		t.Run(test.name, func(t *testing.T) {
			server, endpoint := serveEmbedded(t)
			if test.secure {
				server.watches.Opener.HTTP2 = nil
			} else {
				server.watches.Adopter = nil
			}
			front := httptest.NewUnstartedServer(server)
			front.Listener = transport.Listen(front.Listener)
			t.Cleanup(front.Close)
			environment := os.Environ()
			if !test.secure {
				front.Start()
			} else {
				front.EnableHTTP2 = true
				front.StartTLS()
				environment = append(environment, "SSL_CERT_FILE="+certificateOf(t, front))
			}
			command := exec.CommandContext(t.Context(), suite, "-base", front.URL, "-etcd", endpoint)
			command.Dir, command.Env = filepath.Join("gatewaytest", "conformance"), environment
			if out, err := command.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// serveEmbedded starts a gateway on an etcd of its own, whose endpoint it returns.
func serveEmbedded(t *testing.T) (server *Server, endpoint string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	etcd, err := embedded.Start(ctx, embedded.Config{DataDir: t.TempDir(), ClientURL: "http://127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = etcd.Close() })
	store, err := etcdstore.Open(etcdstore.Config{Endpoints: etcd.Endpoints()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	server, err = New(Options{Store: store, Prefix: "/registry", Logger: slog.New(slog.DiscardHandler), Build: buildinfo.Info{Version: "test"}, GarbageCollector: true, KeysWritable: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Run(running)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	if err := server.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	return server, etcd.Endpoints()[0]
}

// certificateOf writes the certificate of a server to a file.
func certificateOf(t *testing.T, front *httptest.Server) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
