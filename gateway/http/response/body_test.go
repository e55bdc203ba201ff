package response

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"

	"revtail/gateway/netio/buffer"
)

// TestLargeListHoldsLittle checks that a list is sent while it is made, and that its buffer is bounded.
func TestLargeListHoldsLittle(t *testing.T) {
	w := &discard{header: http.Header{}}
	p := &Body{Buffer: new(buffer.Buffer), writer: w, code: http.StatusOK}
	item := bytes.Repeat([]byte("x"), 1000)
	held := 0
	for range 10_000 {
		p.Bytes = append(p.Bytes, item...)
		if err := p.FlushLarge(); err != nil {
			t.Fatal(err)
		}
		held = max(held, cap(p.Bytes))
	}
	p.Finish()
	if w.bytes != 10_000*len(item) || held > 2*compressAbove {
		t.Errorf("%d bytes sent, %d held", w.bytes, held)
	}
}

// TestBrokenConnectionEndsAList checks that the list stops when its client is gone.
func TestBrokenConnectionEndsAList(t *testing.T) {
	for _, compressed := range []bool{false, true} {
		p := &Body{Buffer: new(buffer.Buffer), writer: &discard{header: http.Header{}, err: io.ErrClosedPipe}, code: http.StatusOK}
		if compressed {
			p.coding = NewCompressors().preferred("gzip")
		}
		spills := 0
		for p.FlushLarge() == nil && spills < 100_000 {
			p.Bytes = fmt.Appendf(p.Bytes, "%d", spills*spills)
			spills++
		}
		p.Finish()
		if p.err == nil {
			t.Errorf("compressed %t: no end after %d pieces", compressed, spills)
		}
	}
}

// discard is a client that reads everything, or nothing.
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
