//go:build !race

// Under the race detector sync.Pool drops some of its values, so counting allocations has no meaning there.

package transport

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"revtail/encoding"
	"revtail/gateway/netio/socket"
)

// sink discards a stream.
type sink struct {
	net.Conn
	header http.Header
}

func (s sink) Header() http.Header              { return s.header }
func (sink) WriteHeader(int)                    {}
func (sink) Write(p []byte) (int, error)        { return len(p), nil }
func (sink) FlushError() error                  { return nil }
func (sink) SetWriteDeadline(_ time.Time) error { return nil }

// TestDeliveryAllocatesNothing checks that no transport allocates memory for a delivery on a goroutine.
func TestDeliveryAllocatesNothing(t *testing.T) {
	taken, _ := newHijackedTransport(context.Background(), Handle{Conn: sink{}}, socket.WriteTimeout)
	request := func(major, minor int) *responseWriterTransport {
		return newResponseWriterTransport(sink{}, &http.Request{ProtoMajor: major, ProtoMinor: minor}, socket.WriteTimeout)
	}
	for name, transport := range map[string]transport{"HTTP/1.1": taken, "HTTP/2": request(2, 0), "HTTP/1.0": request(1, 0)} {
		t.Run(name, func(t *testing.T) {
			s := &Stream{transport: transport}
			object := make([]byte, 1000)
			batch := func() {
				for range 10 {
					s.event(encoding.Modified, object)
				}
				if err := s.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			batch()
			if n := testing.AllocsPerRun(100, batch); n > 0 {
				t.Errorf("%v allocations for a batch of 10", n)
			}
		})
	}
}
