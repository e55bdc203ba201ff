package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"revtail/encoding/jsontext"
	"revtail/etcdstore"
	"revtail/etcdstore/memory"
	"revtail/gateway/resource"
)

// writeKinds are a small object and one with some structure.
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

// BenchmarkCreate is what a create costs this process, from the request to the store and to the answer.
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

// BenchmarkUpdate is what an update costs it: of many objects in turn, as the cache needs a moment to hear of each.
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

// BenchmarkChecks are the steps of a write that see all of the object: whether it fits its Go type, its metadata, typed, and
// who manages what after a change of one field.
func BenchmarkChecks(b *testing.B) {
	builtin := resource.NewRegistry(resource.Builtin())
	for name, res := range map[string]*resource.Resource{
		"ConfigMap": builtin.Lookup("", "v1", "configmaps"), "Deployment": builtin.Lookup("apps", "v1", "deployments"),
	} {
		object, err := jsontext.Unmarshal([]byte(accounted[name].object))
		if err != nil {
			b.Fatal(err)
		}
		d := newDocument(object)
		d.SetUID("u")
		wr := &writeRequest{target: target{Ref: resource.Ref{Resource: res}, fields: newFieldManagers(res)}, writeOptions: writeOptions{manager: "m"}}
		wr.track(emptyObject(wr.Resource), d)
		b.Run(name+"/type", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !d.fits(res) {
					b.Fatal("does not fit")
				}
			}
		})
		b.Run(name+"/metadata", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d.meta(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/managers", func(b *testing.B) {
			next := d.shallowCopy()
			next.SetLabels(map[string]string{"a": "changed", "c": "d"})
			b.ReportAllocs()
			for b.Loop() {
				next.drop("managedFields")
				if !wr.account(d, next) {
					b.Fatal("left to the library")
				}
			}
		})
	}
}

// writeServer is a server that is asked without a network.
type writeServer struct{ *Server }

func newWriteServer(tb testing.TB, store etcdstore.Store) writeServer {
	tb.Helper()
	server, err := New(Options{Store: store, Prefix: "/registry", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
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
