package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"revtail/encoding"
	"revtail/gateway/access/flowcontrol"
	"revtail/gateway/api/catalog"
	"revtail/gateway/http/response"
	"revtail/gateway/resource"
	"revtail/gateway/watchcache"
	"revtail/gateway/watchcache/filter"
)

// BenchmarkList writes a list of 5,000 objects of 1 KiB in each representation.
func BenchmarkList(b *testing.B) {
	objects := make([]*watchcache.Object, 5000)
	for i := range objects {
		objects[i] = &watchcache.Object{Object: encoding.Object{JSON: fmt.Appendf(nil,
			`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"%d","name":"c","namespace":"default"},"data":{"k":%q}}`, i, strings.Repeat("x", 900))}}
	}
	handler := &Handler{Responder: &response.Responder{Compressors: response.NewCompressors()}, Filters: filter.NewCache(), Flows: new(flowcontrol.Pools)}
	configMap := catalog.Target{Ref: resource.Ref{Resource: &resource.Resource{Version: "v1", Kind: "ConfigMap", GoType: corev1.ConfigMap{}}}}
	for _, bench := range []struct{ name, accept, encoding string }{
		{"plain", "application/json", "identity"},
		{"gzip", "application/json", "gzip"},
		{"pretty", "application/json;pretty=1", "identity"},
		{"metadata", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "identity"},
		{"table", "application/json;as=Table;v=v1;g=meta.k8s.io", "identity"},
		{"yaml", "application/yaml", "identity"},
		{"protobuf", "application/vnd.kubernetes.protobuf", "identity"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			r := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/default/configmaps", nil)
			r.Header.Set("Accept", bench.accept)
			r.Header.Set("Accept-Encoding", bench.encoding)
			b.ReportAllocs()
			for b.Loop() {
				f, err := handler.negotiate(r, configMap, response.List)
				if err != nil {
					b.Fatal(err)
				}
				list := &watchcache.List{Revision: 7, Objects: slices.Values(objects)}
				if err := handler.respondList(b.Context(), discardWriter{}, r, configMap, f, list); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(objects)), "ns/object")
		})
	}
}

// discardWriter is an http.ResponseWriter that drops the response.
type discardWriter http.Header

func (d discardWriter) Header() http.Header         { return http.Header(d) }
func (d discardWriter) WriteHeader(int)             {}
func (d discardWriter) Write(p []byte) (int, error) { return len(p), nil }
