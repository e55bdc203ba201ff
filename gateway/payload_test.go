package gateway

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"revtail/gateway/netio/buffer"
)

// fill makes n ConfigMaps of a KiB and more.
func (s *testServer) fill(n int) {
	s.t.Helper()
	puts := make(map[string][]byte)
	for i := range n {
		puts[fmt.Sprintf("/registry/configmaps/default/c%04d", i)] = fmt.Appendf(nil,
			`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c%04d","namespace":"default"},"data":{"k":%q}}`, i, strings.Repeat("x", 1024))
	}
	s.store.Txn(puts, nil)
}

// TestLargeAnswersAreCompressed: gzip above 128 KiB for those who take it, and the same content for all.
func TestLargeAnswersAreCompressed(t *testing.T) {
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
			t.Errorf("%s: the compressed answer says something else: %d bytes, want %d", test.accept, len(unpacked), len(identity.body))
		}
		if len(a.body) > len(identity.body)/5 {
			t.Errorf("%d bytes of %d are left", len(a.body), len(identity.body))
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

// TestSmallAnswersHaveALength: what fits into the buffer is not chunked.
func TestSmallAnswersHaveALength(t *testing.T) {
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

// TestLargeListHoldsLittle: a list is sent while it is made; what is held of it is bounded.
func TestLargeListHoldsLittle(t *testing.T) {
	w := &discard{header: http.Header{}}
	p := &payload{Buffer: new(buffer.Buffer), writer: w, code: http.StatusOK}
	item := bytes.Repeat([]byte("x"), 1000)
	held := 0
	for range 10_000 {
		p.Bytes = append(p.Bytes, item...)
		if err := p.spill(); err != nil {
			t.Fatal(err)
		}
		held = max(held, cap(p.Bytes))
	}
	p.finish()
	if w.bytes != 10_000*len(item) || held > 2*compressAbove {
		t.Errorf("%d bytes sent, %d held", w.bytes, held)
	}
}

// TestBrokenConnectionEndsAList: nothing more is made for a client that has gone.
func TestBrokenConnectionEndsAList(t *testing.T) {
	for _, compressed := range []bool{false, true} {
		p := &payload{Buffer: new(buffer.Buffer), writer: &discard{header: http.Header{}, err: io.ErrClosedPipe}, code: http.StatusOK}
		if compressed {
			p.coding = newCompressors().preferred("gzip")
		}
		spills := 0
		for p.spill() == nil && spills < 100_000 {
			p.Bytes = fmt.Appendf(p.Bytes, "%d", spills*spills)
			spills++
		}
		p.finish()
		if p.err == nil {
			t.Errorf("compressed %t: no end after %d pieces", compressed, spills)
		}
	}
}

// discard is a client that takes everything, or nothing.
type discard struct {
	header http.Header
	bytes  int
	err    error
}

func (d *discard) Header() http.Header { return d.header }
func (d *discard) WriteHeader(int)     {}
func (d *discard) Write(p []byte) (int, error) {
	d.bytes += len(p)
	return len(p), d.err
}
