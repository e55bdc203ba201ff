//go:build !race

// sync.Pool drops what it is given now and then under the race detector: allocations tell nothing there.

package gateway

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"

	"revtail/encoding"
)

// sink is where a stream ends that nobody reads.
type sink struct {
	net.Conn
	header http.Header
}

func (s sink) Header() http.Header              { return s.header }
func (sink) WriteHeader(int)                    {}
func (sink) Write(p []byte) (int, error)        { return len(p), nil }
func (sink) FlushError() error                  { return nil }
func (sink) SetWriteDeadline(_ time.Time) error { return nil }

// TestDeliveryAllocatesNothing: what a transport adds to a delivery on a goroutine.
func TestDeliveryAllocatesNothing(t *testing.T) {
	taken, _ := newHijackedTransport(context.Background(), sink{}, writeTimeout)
	request := func(major, minor int) *responseWriterTransport {
		return newResponseWriterTransport(sink{}, &http.Request{ProtoMajor: major, ProtoMinor: minor}, writeTimeout)
	}
	for name, transport := range map[string]transport{"HTTP/1.1": taken, "HTTP/2": request(2, 0), "HTTP/1.0": request(1, 0)} {
		t.Run(name, func(t *testing.T) {
			s := &stream{transport: transport}
			object := make([]byte, 1000)
			batch := func() {
				for range 10 {
					s.event(encoding.Modified, object)
				}
				if err := s.flush(); err != nil {
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

// TestWriterAllocatesNothingForADelivery: more watchers cost no more allocations.
func TestWriterAllocatesNothingForADelivery(t *testing.T) {
	overAll(t, writeTimeout, func(t *testing.T, s *writerServer) {
		const few, many, events = 2, 130, 100
		s.window = 1 << 30 // of which nothing is given back
		revision := s.create("first")
		watchers := 0
		watch := func(n int) {
			for ; watchers < n; watchers++ {
				conn, _ := s.watchFrom(revision, "")
				if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
					conn = secure.NetConn() // nobody opens what is sealed
				}
				go func() { _, _ = io.Copy(io.Discard, conn) }()
			}
		}
		newest := 0
		publish := func() uint64 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range events {
				newest = int(s.store.Txn(map[string][]byte{"/registry/configmaps/default/first": fmt.Appendf(nil,
					`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"first","namespace":"default"},"data":{"value":"%d"}}`, newest)}, nil))
				s.awaitDelivered(newest)
			}
			runtime.ReadMemStats(&after)
			return after.Mallocs - before.Mallocs
		}
		watch(few)
		publish()
		alone := publish()
		watch(many)
		publish()
		together := publish()
		if each := (float64(together) - float64(alone)) / (events * (many - few)); each > 0.5 {
			t.Errorf("%.2f allocations a delivery: %d with %d watchers, %d with %d", each, alone, few, together, many)
		}
	})
}

// awaitDelivered waits until every client has been written all up to a revision.
func (s *writerServer) awaitDelivered(revision int) {
	s.t.Helper()
	await(s.t, "all clients to have it", func() bool {
		all := true
		s.clients(func(c *client) { all = all && int(c.session.watcher.Through()) >= revision && len(c.unsent) == 0 })
		return all
	})
}
