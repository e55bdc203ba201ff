package gateway

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

// fill creates n ConfigMaps of at least a KiB.
func (s *testServer) fill(n int) {
	s.t.Helper()
	puts := map[string][]byte{ // the gateway creates a missing Namespace after a while, which changes the revision of every list
		"/registry/namespaces/default": []byte(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"default"}}`),
	}
	for i := range n {
		puts[fmt.Sprintf("/registry/configmaps/default/c%04d", i)] = fmt.Appendf(nil,
			`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c%04d","namespace":"default"},"data":{"k":%q}}`, i, strings.Repeat("x", 1024))
	}
	s.store.Txn(puts, nil)
}

// TestLargeResponsesAreCompressed checks that responses above 128 KiB are compressed for clients that accept gzip, and have the same
// content for all.
func TestLargeResponsesAreCompressed(t *testing.T) {
	s := newTestServer(t)
	s.fill(1000)
	plain := s.get(configMaps, "Accept-Encoding", "identity")
	if len(plain.body) < 1000<<10 || plain.header.Get("Content-Encoding") != "" {
		t.Fatalf("%d bytes, %v", len(plain.body), plain.header)
	}
	for _, test := range []struct {
		path, encoding, accept string
		want                   bool
	}{
		{"", "gzip", "application/json", true},
		{"", "deflate, gzip;q=0.5", "application/json", true},
		{"", "gzip", "application/yaml", true},
		{"", "gzip", tableV1, true},
		{"", "gzip;q=0", "application/json", false},
		{"", "deflate", "application/json", false},
		{"", "identity", "application/json", false},
		{"?limit=10", "gzip", "application/json", false},
		{"/c0001", "gzip", "application/json", false},
	} {
		a := s.get(configMaps+test.path, "Accept-Encoding", test.encoding, "Accept", test.accept)
		got := a.header.Get("Content-Encoding") == "gzip"
		if got != test.want || got != strings.Contains(a.header.Get("Vary"), "Accept-Encoding") {
			t.Errorf("%s for %s: %v", test.path, test.encoding, a.header)
		}
		if !got {
			continue
		}
		identity := s.get(configMaps+test.path, "Accept-Encoding", "identity", "Accept", test.accept)
		if unpacked := gunzip(t, a.body); test.accept != tableV1 && unpacked != identity.body { // a Table has ages
			t.Errorf("%s: the compressed response differs: %d bytes, want %d", test.accept, len(unpacked), len(identity.body))
		}
		if len(a.body) > len(identity.body)/5 {
			t.Errorf("the compressed response has %d bytes of %d", len(a.body), len(identity.body))
		}
	}
}

func gunzip(t *testing.T, body string) string {
	t.Helper()
	reader, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	reader.Multistream(false) // one member
	unpacked, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return string(unpacked)
}

// TestSmallResponsesHaveALength checks that a response that fits into the buffer is not chunked.
func TestSmallResponsesHaveALength(t *testing.T) {
	s := newTestServer(t)
	s.fill(20)
	for _, path := range []string{"", "/c0001", "/absent"} {
		for _, accept := range []string{"application/json", "application/yaml"} {
			a := s.get(configMaps+path, "Accept", accept)
			if got := a.header.Get("Content-Length"); got != fmt.Sprint(len(a.body)) {
				t.Errorf("%s as %s: Content-Length %q of %d", path, accept, got, len(a.body))
			}
		}
	}
}
