package gateway

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
	"revtail/gateway/api/mount"
	"revtail/gateway/config/buildinfo"
	"revtail/gateway/gatewaytest/rawhttp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testServer is a gateway over a store in memory, behind real HTTP.
type testServer struct {
	t      *testing.T
	store  *memory.Store
	server *Server
	url    string
}

func newTestServer(t *testing.T) *testServer {
	t.Helper()
	return serveStore(t, memory.New())
}

// serveStore starts a gateway over a store with a history.
func serveStore(t *testing.T, store *memory.Store) *testServer {
	t.Helper()
	return serveThrough(t, store, store)
}

// serveThrough starts a gateway whose requests go through another store.
func serveThrough(t *testing.T, store *memory.Store, through etcdstore.Store) *testServer {
	t.Helper()
	return serveMounts(t, store, through)
}

// serveMounts starts a gateway with mounts.
func serveMounts(t *testing.T, store *memory.Store, through etcdstore.Store, mounts ...mount.Mount) *testServer {
	t.Helper()
	return serveLogged(t, store, Options{Store: through, Mounts: mounts, Logger: slog.New(slog.DiscardHandler)})
}

// serveLogged starts a gateway with the store, the mounts and the logger of options. Store wraps store.
func serveLogged(t *testing.T, store *memory.Store, options Options) *testServer {
	t.Helper()
	options.Prefix, options.Build.Version, options.Keys, options.KeysWritable = "/registry", "test", []string{"/read/"}, []string{"/app/", "flat"}
	server, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv(leaveOutLoop) != "" {
		server.watches.Adopter = nil
	}
	run(t, server)
	front := httptest.NewServer(server)
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return &testServer{t: t, store: store, server: server, url: front.URL}
}

// run runs a server until the test ends. It returns when the server is ready.
func run(tb testing.TB, server *Server) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Run(ctx)
	}()
	tb.Cleanup(func() { cancel(); <-ended })
	if err := server.WaitReady(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// answer is a response with its whole body.
type answer struct {
	code   int
	header http.Header
	body   string
}

func (a answer) json(t *testing.T) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal([]byte(a.body), &out); err != nil {
		t.Fatalf("not JSON: %v: %.200s", err, a.body)
	}
	return out
}

func (s *testServer) do(method, path, body string, header ...string) answer {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(read)}
}

func (s *testServer) get(path string, header ...string) answer {
	s.t.Helper()
	return s.do(http.MethodGet, path, "", header...)
}

const configMaps = "/api/v1/namespaces/default/configmaps"

// The required fields of the specs of pods and of workloads.
const (
	podSpec      = `"containers":[{"name":"c","image":"i"}]`
	workloadSpec = `"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{` + podSpec + `}}`
)

// create makes a ConfigMap and returns its resourceVersion.
func (s *testServer) create(name string) string {
	s.t.Helper()
	a := s.do(http.MethodPost, configMaps, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"`+name+`"}}`)
	if a.code != http.StatusCreated {
		s.t.Fatalf("create %s: %d %s", name, a.code, a.body)
	}
	return a.json(s.t)["metadata"].(map[string]any)["resourceVersion"].(string)
}

// benchServer serves a store until the benchmark ends.
func benchServer(b *testing.B, store *memory.Store) string {
	b.Helper()
	server, err := New(Options{Store: store, Prefix: "/registry", Logger: slog.New(slog.DiscardHandler), Build: buildinfo.Info{Version: "test"}})
	if err != nil {
		b.Fatal(err)
	}
	run(b, server)
	front := httptest.NewServer(server)
	b.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	return front.URL
}

// await polls until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	rawhttp.Await(t, what, holds)
}
