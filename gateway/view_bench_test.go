package gateway

import (
	"context"
	"fmt"
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
	server := &Server{watches: &watchService{opener: newStreamOpener(nil, newCompressors())}}
	configMap := target{Ref: resource.Ref{Resource: &resource.Resource{Version: "v1", Kind: "ConfigMap"}}}
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
