package gateway

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"revtail/etcdstore/memory"
)

// BenchmarkListForms lists objects of 1 KiB in each form.
func BenchmarkListForms(b *testing.B) {
	const objects = 5000
	forms := map[string]string{
		"JSON":     "application/json",
		"Table":    "application/json;as=Table;g=meta.k8s.io;v=v1",
		"protobuf": "application/vnd.kubernetes.protobuf",
	}
	store := memory.New()
	puts := make(map[string][]byte)
	for i := range objects {
		puts[fmt.Sprintf("/registry/configmaps/default/c%05d", i)] = fmt.Appendf(nil,
			`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c%05d","namespace":"default","uid":"6bb1ab2e-%08d","creationTimestamp":"2026-11-28T10:00:00Z",`+
				`"labels":{"app":"web"},"managedFields":[{"manager":"bench","operation":"Update","apiVersion":"v1","time":"2026-11-28T10:00:00Z","fieldsType":"FieldsV1",`+
				`"fieldsV1":{"f:data":{".":{},"f:k":{}},"f:metadata":{"f:labels":{".":{},"f:app":{}}}}}]},"data":{"k":%q}}`, i, i, strings.Repeat("x", 700))
	}
	store.Txn(puts, nil)
	url := benchServer(b, store) + configMaps
	for name, accept := range forms {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				list(b, url, accept)
			}
		})
	}
}

// list reads a list in the form that a client accepts.
func list(tb testing.TB, url, accept string) {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	request.Header.Set("Accept", accept)
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		tb.Fatalf("status %d", response.StatusCode)
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		tb.Fatal(err)
	}
}
