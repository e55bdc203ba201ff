package gateway

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"revtail/encoding"
	"revtail/etcdstore/memory"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
)

// BenchmarkListOverLoopback reads a list of 5,000 objects of 1 KiB over plain HTTP/1.1: as it was stored, and after every tenth
// object has changed.
func BenchmarkListOverLoopback(b *testing.B) {
	for _, changed := range []bool{false, true} {
		b.Run(fmt.Sprintf("changed=%t", changed), func(b *testing.B) {
			store := memory.New()
			put := func(step int) {
				puts := make(map[string][]byte)
				for i := 0; i < 5000; i += step {
					puts[fmt.Sprintf("/registry/configmaps/default/c%04d", i)] = fmt.Appendf(nil,
						`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c%04d","namespace":"default"},"data":{"k":%q}}`, i, strings.Repeat("x", 900))
				}
				store.Txn(puts, nil)
			}
			put(1)
			url := benchServer(b, store)
			if changed {
				put(10)
			}
			client := &http.Client{}
			defer client.CloseIdleConnections()
			b.ReportAllocs()
			for b.Loop() {
				response, err := client.Get(url + configMaps) //nolint:noctx // ends with the benchmark
				if err != nil {
					b.Fatal(err)
				}
				n, err := io.Copy(io.Discard, response.Body)
				if err != nil || n < 5000*900 {
					b.Fatal(n, err)
				}
				b.SetBytes(n)
				_ = response.Body.Close()
			}
		})
	}
}

// benchServer serves a store until the benchmark ends.
func benchServer(b *testing.B, store *memory.Store) string {
	b.Helper()
	server, err := New(Options{Store: store, Prefix: "/registry", Logger: slog.New(slog.DiscardHandler), Version: "test"})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Run(ctx)
	}()
	if err := server.WaitReady(ctx); err != nil {
		b.Fatal(err)
	}
	front := httptest.NewServer(server)
	b.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
		cancel()
		<-ended
	})
	return front.URL
}

// BenchmarkList writes a list of 5,000 objects of 1 KiB in each form.
func BenchmarkList(b *testing.B) {
	objects := make([]*watchcache.Object, 5000)
	for i := range objects {
		objects[i] = &watchcache.Object{Object: encoding.Object{JSON: fmt.Appendf(nil,
			`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"%d","name":"c","namespace":"default"},"data":{"k":%q}}`, i, strings.Repeat("x", 900))}}
	}
	server := &Server{transports: newTransports(nil)}
	configMap := target{resource: &resource.Resource{Version: "v1", Kind: "ConfigMap"}}
	for _, bench := range []struct{ name, accept, encoding string }{
		{"plain", "application/json", "identity"},
		{"gzip", "application/json", "gzip"},
		{"pretty", "application/json;pretty=1", "identity"},
		{"metadata", metadataListV1, "identity"},
		{"table", tableV1, "identity"},
		{"yaml", "application/yaml", "identity"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			r := httptest.NewRequest(http.MethodGet, configMaps, nil)
			r.Header.Set("Accept", bench.accept)
			r.Header.Set("Accept-Encoding", bench.encoding)
			b.ReportAllocs()
			for b.Loop() {
				server.writeList(&discard{header: http.Header{}}, r, configMap, &watchcache.List{Revision: 7, Objects: slices.Values(objects)})
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(objects)), "ns/object")
		})
	}
}
