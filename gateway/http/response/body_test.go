package response

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	"revtail/encoding"
	"revtail/gateway/access/cputime"
	"revtail/gateway/netio/buffer"
	"revtail/gateway/watchcache"
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

// TestSlowClientHoldsNoTurn checks that other users may have the processor while a list is written to its client.
func TestSlowClientHoldsNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scheduler := cputime.New(1)
		account, other := scheduler.Account("lister"), scheduler.Account("other")
		writes := 0
		w := &discard{header: http.Header{}, onWrite: func() {
			writes++
			turn := other.Turn()
			if err := turn.Continue(); err != nil { // waits until the bubble ends if the list has the only turn
				t.Error(err)
			}
			turn.End()
		}}
		object := &watchcache.Object{Object: encoding.Object{JSON: bytes.Repeat([]byte("x"), 1000)}}
		list := &watchcache.List{Objects: slices.Values(slices.Repeat([]*watchcache.Object{object}, 1000)), Turn: account.Turn()}
		p := &Body{Buffer: new(buffer.Buffer), writer: w, code: http.StatusOK}
		p.WriteItems(compactFormat{}, []byte("["), list, func(o *watchcache.Object) []byte { return o.JSON })
		p.Finish()
		if usage := scheduler.Usage(); writes < 10 || w.bytes < 1000*1000 || usage[0].Waiting+usage[1].Waiting > 0 {
			t.Errorf("%d bytes in %d writes, %+v", w.bytes, writes, usage)
		}
	})
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

	onWrite func() // nil: nothing
}

func (d *discard) Header() http.Header { return d.header }
func (d *discard) WriteHeader(int)     {}
func (d *discard) Write(p []byte) (int, error) {
	if d.onWrite != nil {
		d.onWrite()
	}
	d.bytes += len(p)
	return len(p), d.err
}
