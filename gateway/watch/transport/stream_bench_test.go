package transport

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"revtail/encoding"
	"revtail/gateway/gatewaytest/rawhttp"
	"revtail/gateway/netio/socket"
)

// BenchmarkStream writes events of 1 KiB to a client that reads them at once. One event per flush is the cost of a watch of a quiet
// resource; 64 events per flush are the cost of a watch that is behind, or that begins.
//
//	go test ./gateway/watch/transport -run '^$' -bench Stream -count 6 | benchstat -
func BenchmarkStream(b *testing.B) {
	for _, transport := range []struct{ name, request string }{
		{"identity", rawhttp.Request},
		{"gzip", strings.Replace(rawhttp.Request, "\r\n\r\n", "\r\nAccept-Encoding: gzip\r\n\r\n", 1)},
		{"zstd", strings.Replace(rawhttp.Request, "\r\n\r\n", "\r\nAccept-Encoding: zstd\r\n\r\n", 1)},
		{"websocket", handshakeRequest},
	} {
		for _, batch := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/%d", transport.name, batch), func(b *testing.B) { benchmarkStream(b, transport.request, batch) })
		}
	}
}

func benchmarkStream(b *testing.B, request string, batch int) {
	b.Helper()
	objects := benchmarkObjects()
	server := newStreamServer(b, socket.WriteTimeout, func(_ context.Context, s *Stream) error {
		b.ReportAllocs()
		b.ResetTimer()
		for i := range b.N {
			s.event(encoding.Modified, objects[i%len(objects)])
			if i%batch == batch-1 {
				if err := s.Flush(); err != nil {
					return err
				}
			}
		}
		err := s.Flush()
		b.StopTimer()
		return err
	})
	server.Start()
	_, r := rawhttp.Connect(b, server.Listener.Addr().String(), request)
	read, _ := io.Copy(io.Discard, bufio.NewReader(r)) // a WebSocket ends before its connection ends
	b.ReportMetric(float64(read)/float64(b.N), "bytes/event")
}

// benchmarkObjects returns objects that are similar, like the objects of one resource, but all different.
func benchmarkObjects() [][]byte {
	source := rand.New(rand.NewPCG(1, 2))
	objects := make([][]byte, 1000)
	for i := range objects {
		object := fmt.Sprintf(`{"kind":"Order","apiVersion":"shop.example.com/v1","metadata":{"name":"order-%05d","namespace":"team-%d","uid":"%016x%016x"`+
			`,"resourceVersion":"%d","labels":{"app":"web","tier":"%d"}},"spec":{"replicas":%d`,
			source.IntN(50000), source.IntN(100), source.Uint64(), source.Uint64(), 100000+i, source.IntN(4), source.IntN(100))
		for n := 0; len(object) < 1000; n++ {
			object += fmt.Sprintf(`,"part%d":{"image":"registry.example.com/team/web:%d.%d","since":"2026-11-21T0%d:%02d:%02dZ"}`,
				n, source.IntN(9), source.IntN(99), source.IntN(9), source.IntN(60), source.IntN(60))
		}
		objects[i] = []byte(object + "}}")
	}
	return objects
}
