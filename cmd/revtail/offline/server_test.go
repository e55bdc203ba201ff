//go:build !noembedded

package offline

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"revtail/etcdstore"
	"revtail/etcdstore/embedded"
	"revtail/etcdstore/redaction"
	"revtail/gateway"
)

// A password that is stored in Secrets, plain and as a Secret has it.
const (
	password = "correct-horse"
	encoded  = "Y29ycmVjdC1ob3JzZQ=="
)

// secret returns a Secret with an annotation of kubectl apply.
func secret(name, value string) string {
	return `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"` + name + `","namespace":"default","uid":"u","creationTimestamp":"2026-11-26T00:00:00Z",` +
		`"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"stringData\":{\"p\":\"` + password + `\"}}"}},"data":{"p":"` + value + `"},"type":"Opaque"}`
}

// startStore starts an etcd with some history, and returns a store over it.
func startStore(t *testing.T) *etcdstore.Etcd {
	t.Helper()
	silenceKubernetes() // before the goroutines of the etcd, which write to that log
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	server, err := embedded.Start(ctx, embedded.Config{DataDir: t.TempDir(), ClientURL: "http://127.0.0.1:0", Disposable: true})
	if err != nil {
		t.Fatal(err)
	}
	etcd, err := etcdstore.Open(etcdstore.Config{Endpoints: server.Endpoints()})
	if err == nil {
		err = etcd.Await(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(etcd.Close(), server.Close()); err != nil {
			t.Error(err)
		}
	})
	put := func(key, value string) {
		if _, err := etcd.Transact(ctx, etcdstore.Txn{Then: []etcdstore.Op{{Verb: etcdstore.Put, Key: key, Value: []byte(value)}}}); err != nil {
			t.Fatal(err)
		}
	}
	put("revtail/claims/registry", `{"format":1,"prefix":"/registry"}`)
	for _, value := range []string{"1", "2", "3"} {
		put("/registry/configmaps/default/a", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default","uid":"u","creationTimestamp":"2026-11-26T00:00:00Z"},"data":{"v":"`+value+`"}}`)
	}
	put("/registry/secrets/default/s", secret("s", encoded))
	put("/registry/secrets/default/s", secret("s", "bmV3"))
	put("/registry/secrets/default/t", secret("t", encoded))
	put("/registry/secrets/default/garbage", password)
	put("/app/secrets/db", password)
	return etcd
}

func save(t *testing.T, etcd *etcdstore.Etcd) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "backup.db")
	f, err := os.Create(file)
	if err == nil {
		err = etcd.Snapshot(t.Context(), func(part []byte, _ uint64) error {
			_, failed := f.Write(part)
			return failed
		})
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// serve runs a server until the test ends.
func serve(t *testing.T, run func(context.Context) error, ready func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	bound, done := context.WithTimeout(t.Context(), time.Minute)
	defer done()
	if err := ready(bound); err != nil {
		t.Fatal(err)
	}
}

// openFile serves a file until the test ends.
func openFile(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := Open(t.Context(), o, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	serve(t, s.Run, s.WaitReady)
	return s
}

// answer is a response.
type answer struct {
	Code int
	Body string
}

// get asks a handler. A watch ends after a moment.
func get(t *testing.T, h http.Handler, method, path, accept, body string) answer {
	t.Helper()
	bound := time.Minute
	if strings.Contains(path, "?watch&since=") { // a watch of keys has no other end
		bound = time.Second
	}
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	r.Host = "localhost"
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return answer{w.Code, w.Body.String()}
}

const table = "application/json;as=Table;v=v1;g=meta.k8s.io"

// paths are reads of all kinds; watches end by timeoutSeconds.
var paths = []struct{ name, method, path, accept, body string }{
	{name: "object", path: "/api/v1/namespaces/default/secrets/s"},
	{name: "object in YAML", path: "/api/v1/namespaces/default/secrets/s", accept: "application/yaml"},
	{name: "object in protobuf", path: "/api/v1/namespaces/default/secrets/s", accept: "application/vnd.kubernetes.protobuf"},
	{name: "list", path: "/api/v1/secrets"},
	{name: "pages", path: "/api/v1/secrets?limit=1"},
	{name: "pages of a past revision", path: "/api/v1/secrets?limit=1&resourceVersion=6&resourceVersionMatch=Exact"},
	{name: "pages of a table", path: "/api/v1/configmaps?limit=500", accept: table},
	{name: "list of a past revision", path: "/api/v1/secrets?resourceVersion=6&resourceVersionMatch=Exact"},
	{name: "table", path: "/api/v1/secrets?includeObject=Object", accept: table},
	{name: "watch", path: "/api/v1/secrets?watch=1&resourceVersion=5&timeoutSeconds=1"},
	{name: "watch with initial events", path: "/api/v1/secrets?watch=1&timeoutSeconds=1"},
	{name: "watch for a table", path: "/api/v1/secrets?watch=1&resourceVersion=5&timeoutSeconds=1&includeObject=Object", accept: table},
	{name: "configmaps", path: "/api/v1/configmaps"},
	{name: "a configmap of a past revision", path: "/api/v1/configmaps?resourceVersion=4&resourceVersionMatch=Exact"},
	{name: "key", path: "/v1/keys/registry/secrets/default/s"},
	{name: "key in YAML", path: "/v1/keys/registry/secrets/default/s", accept: "application/yaml"},
	{name: "key in base64", path: "/v1/keys/registry/secrets/default/s?encoding=base64"},
	{name: "key that is no object", path: "/v1/keys/registry/secrets/default/garbage"},
	{name: "key elsewhere", path: "/v1/keys/app/secrets/db"},
	{name: "keys", path: "/v1/keys/registry/"},
	{name: "keys of a past revision", path: "/v1/keys/registry/?at=6"},
	{name: "keys with a filter", path: "/v1/keys/registry/?filter=" + "value.kind%20%3D%3D%20%22Secret%22"},
	{name: "watch of keys", path: "/v1/keys/registry/?watch&since=5"},
	{name: "transaction", method: http.MethodPost, path: "/v1/txn", body: `{"then":[{"get":{"key":"/registry/secrets/default/s"}}]}`},
	{name: "metrics", path: "/metrics"},
	{name: "health", path: "/readyz?verbose"},
	{name: "discovery", path: "/api/v1"},
}

// TestRedaction reads a file in all ways.
func TestRedaction(t *testing.T) {
	file := save(t, startStore(t))
	s := openFile(t, Options{File: file, Redact: redactSecrets, Key: redaction.NewKey()})
	plain := openFile(t, Options{File: file, Redact: redactNone})
	shown := 0
	for _, p := range paths {
		method := p.method
		if method == "" {
			method = http.MethodGet
		}
		got := get(t, s, method, p.path, p.accept, p.body)
		for _, value := range []string{password, encoded, "bmV3"} {
			if strings.Contains(got.Body, value) {
				t.Errorf("%s shows %s:\n%s", p.name, value, got.Body)
			}
		}
		if got := get(t, plain, method, p.path, p.accept, p.body); strings.Contains(got.Body, password) || strings.Contains(got.Body, encoded) {
			shown++
		}
	}
	if shown < 12 {
		t.Errorf("without redaction %d of the paths show a value: the test reads too little", shown)
	}
	for _, path := range []string{"/debug/watchers", "/debug/flows", "/metrics"} {
		if got := get(t, s.Admin(), http.MethodGet, path, "", ""); strings.Contains(got.Body, password) || strings.Contains(got.Body, encoded) {
			t.Errorf("%s shows a value", path)
		}
	}
}

// varying are parts of answers that differ between two gateways of the same data.
var varying = regexp.MustCompile(`(?m)^(# |revtail_|go_|process_|promhttp_).*$|"age":"[^"]*"|\[.\]claim .*|\[\+\]decryption ok\n|"continue": ?"[^"]*"|"remainingItemCount": ?\d+|"(?:\d+[smhd])+"`)

// TestSameAsGateway compares the answers about a file with those of a gateway of the etcd, and checks that writes are refused.
func TestSameAsGateway(t *testing.T) {
	etcd := startStore(t)
	live, err := gateway.New(gateway.Options{Store: etcd, Prefix: "/registry", Logger: slog.New(slog.DiscardHandler), Keys: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	file := save(t, etcd)
	s := openFile(t, Options{File: file, Redact: redactNone})
	serve(t, live.Run, live.WaitReady)
	for _, p := range paths {
		method := p.method
		if method == "" {
			method = http.MethodGet
		}
		want, got := get(t, live, method, p.path, p.accept, p.body), get(t, s, method, p.path, p.accept, p.body)
		want.Body, got.Body = varying.ReplaceAllString(want.Body, ""), varying.ReplaceAllString(got.Body, "")
		if p.name == "metrics" {
			want.Body, got.Body = "", ""
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-gateway +file):\n%s", p.name, diff)
		}
		if want.Code != http.StatusOK {
			t.Errorf("%s: %d %s", p.name, want.Code, want.Body)
		}
	}
	for _, write := range []struct{ method, path, body string }{
		{http.MethodPost, "/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"new"}}`},
		{http.MethodDelete, "/api/v1/namespaces/default/configmaps/a", ""},
		{http.MethodDelete, "/api/v1/namespaces/default/configmaps", ""},
		{http.MethodPut, "/v1/keys/app/x", "1"},
		{http.MethodDelete, "/v1/keys/app/secrets/db", ""},
		{http.MethodPost, "/v1/txn", `{"then":[{"put":{"key":"/app/x","value":"1"}}]}`},
	} {
		if got := get(t, s, write.method, write.path, "", write.body); got.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s %s: %d %s, want 405", write.method, write.path, got.Code, got.Body)
		}
	}
}

// TestReadsWhatIsAsked checks that objects and pages of lists are read from the file, and that a cache is filled by the first request that needs it.
func TestReadsWhatIsAsked(t *testing.T) {
	s := openFile(t, Options{File: save(t, startStore(t)), Redact: redactNone})
	cached := func() bool {
		return strings.Contains(get(t, s, http.MethodGet, "/metrics", "", "").Body, `revtail_cache_objects{resource="secrets"}`)
	}
	for _, path := range []string{"/api/v1/namespaces/default/secrets/s", "/api/v1/secrets?limit=2", "/api/v1/secrets?limit=2&labelSelector=a"} {
		if got := get(t, s, http.MethodGet, path, "", ""); got.Code != http.StatusOK || cached() {
			t.Errorf("%s: %d %.300s; cached: %t", path, got.Code, got.Body, cached())
		}
	}
	whole := get(t, s, http.MethodGet, "/api/v1/secrets", "", "")
	if !cached() {
		t.Error("a list without a limit fills no cache")
	}
	if paged := get(t, s, http.MethodGet, "/api/v1/secrets?limit=9", "", ""); paged != whole {
		t.Errorf("a page of everything (-list +page):\n%s", cmp.Diff(whole, paged))
	}
}

// TestPrefix checks which prefix is served.
func TestPrefix(t *testing.T) {
	etcd := startStore(t)
	if s := openFile(t, Options{File: save(t, etcd), Redact: redactNone}); s.Prefix() != "/registry" || s.Owner() != "own" {
		t.Errorf("%s of %s, want /registry of own data", s.Prefix(), s.Owner())
	}
	_, err := etcd.Transact(t.Context(), etcdstore.Txn{Then: []etcdstore.Op{
		{Verb: etcdstore.Delete, Key: "/registry/", Prefix: true}, {Verb: etcdstore.Delete, Key: "revtail/claims/registry"},
		{Verb: etcdstore.Put, Key: "revtail/claims/mine", Value: []byte(`{"format":1,"prefix":"/mine"}`)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if s := openFile(t, Options{File: save(t, etcd), Redact: redactNone}); s.Prefix() != "/mine" || s.Owner() != "own" {
		t.Errorf("%s of %s, want /mine of own data", s.Prefix(), s.Owner())
	}
	if s := openFile(t, Options{File: save(t, etcd), Redact: redactNone, Prefix: "/registry"}); s.Prefix() != "/registry" || s.Owner() != "unclaimed" {
		t.Errorf("prefix %s, owner %s; want /registry, which is unclaimed", s.Prefix(), s.Owner())
	}
}

// TestServe checks that clients in this process can read, and that stop ends everything.
func TestServe(t *testing.T) {
	s, err := Open(t.Context(), Options{File: save(t, startStore(t)), Redact: redactNone}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	dial, stop, err := s.Serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	stop()
	if _, err := dial(t.Context()); err == nil {
		t.Error("a client can connect after stop")
	}
}
