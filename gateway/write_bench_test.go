package gateway

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
)

// writeKinds are a small object and a structured one.
var writeKinds = map[string]struct {
	collection string
	object     func(name, value string) string
}{
	"ConfigMap": {configMaps, func(name, value string) string {
		return `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"` + name + `"},"data":{"a":"` + value + `","b":"` + strings.Repeat("x", 900) + `"}}`
	}},
	"Deployment": {deployments, func(name, value string) string {
		return `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"` + name + `","labels":{"app":"web","tier":"front"}},"spec":{"replicas":3,
			"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[
			{"name":"web","image":"nginx:` + value + `","ports":[{"containerPort":80},{"containerPort":443}],"env":[{"name":"A","value":"1"},{"name":"B","value":"2"}],
			"resources":{"limits":{"cpu":"1","memory":"1Gi"}},"volumeMounts":[{"name":"data","mountPath":"/data"}]},
			{"name":"side","image":"side:1"}],"volumes":[{"name":"data","emptyDir":{}}]}}}}`
	}},
}

// BenchmarkCreate measures the cost of a create in this process, from the request to the store and to the response.
func BenchmarkCreate(b *testing.B) {
	for name, kind := range writeKinds {
		b.Run(name, func(b *testing.B) {
			server := newWriteServer(b, memory.New())
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				server.send(b, http.StatusCreated, http.MethodPost, kind.collection, kind.object(fmt.Sprintf("b%d", i), "a"))
			}
		})
	}
}

// BenchmarkUpdate measures the cost of updates of many objects in turn, because the cache gets each after a short time.
func BenchmarkUpdate(b *testing.B) {
	const objects = 64
	for name, kind := range writeKinds {
		b.Run(name, func(b *testing.B) {
			server := newWriteServer(b, memory.New())
			for i := range objects {
				server.send(b, http.StatusCreated, http.MethodPost, kind.collection, kind.object(fmt.Sprintf("b%d", i), "a"))
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				name := fmt.Sprintf("b%d", i%objects)
				server.send(b, http.StatusOK, http.MethodPut, kind.collection+"/"+name, kind.object(name, fmt.Sprintf("v%d", i)))
			}
		})
	}
}

// writeServer is a server that is called without a network.
type writeServer struct{ *Server }

func newWriteServer(tb testing.TB, store etcdstore.Store) writeServer {
	tb.Helper()
	server, err := New(Options{Store: store, Prefix: "/registry", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	run(tb, server)
	return writeServer{server}
}

func (s writeServer) send(tb testing.TB, code int, method, path, body string) string {
	tb.Helper()
	request := httptest.NewRequest(method, path, strings.NewReader(body))
	request.Header.Set("User-Agent", "bench/1.0")
	recorder := httptest.NewRecorder()
	s.ServeHTTP(recorder, request)
	if recorder.Code != code {
		tb.Fatalf("%s %s: %d, want %d: %s", method, path, recorder.Code, code, recorder.Body)
	}
	return recorder.Body.String()
}
