//go:build !race

// Under the race detector sync.Pool drops some of its values, so counting allocations has no meaning there.

package eventloop

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"testing"

	"revtail/etcdstore"
	"revtail/gateway/gatewaytest/rawhttp"
)

// TestLoopAllocatesNothingForADelivery checks that more watches need no more allocations.
func TestLoopAllocatesNothingForADelivery(t *testing.T) {
	overLoops(t, func(t *testing.T, s *loopServer) {
		const few, many, events = 2, 130, 100
		s.window = 1 << 30 // large, because the client grants nothing again
		revision := s.create("first")
		watchers := 0
		watch := func(n int) {
			for ; watchers < n; watchers++ {
				conn, _ := s.watchFrom(revision, "")
				if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
					conn = secure.NetConn() // the bytes are discarded without decryption
				}
				go func() { _, _ = io.Copy(io.Discard, conn) }()
			}
		}
		newest := revision
		publish := func() uint64 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range events {
				newest = s.store.Txn(map[string][]byte{"/registry/configmaps/default/first": fmt.Appendf(nil,
					`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"first","namespace":"default"},"data":{"value":"%d"}}`, newest)}, nil)
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

// awaitDelivered waits until the loop has written all events up to revision to every client.
func (s *loopServer) awaitDelivered(revision etcdstore.Revision) {
	s.t.Helper()
	rawhttp.Await(s.t, "all clients to have it", func() bool {
		all := true
		s.clients(func(c *client) { all = all && c.session.Watcher.Through() >= revision && len(c.unsent) == 0 })
		return all
	})
}
