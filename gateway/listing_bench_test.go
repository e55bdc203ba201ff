package gateway

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"revtail/etcdstore/memory"
)

// BenchmarkListOverLoopback reads lists of objects of 1 KiB over plain HTTP/1.1, first as they were stored, then after every tenth object
// has changed. The allocations are those of the server, because the client allocates nothing.
func BenchmarkListOverLoopback(b *testing.B) {
	for _, objects := range []int{1000, 10_000, 50_000} {
		for _, changed := range []bool{false, true} {
			b.Run(fmt.Sprintf("objects=%d,changed=%t", objects, changed), func(b *testing.B) {
				store := memory.New()
				put := func(step int) {
					puts := make(map[string][]byte)
					for i := 0; i < objects; i += step {
						puts[fmt.Sprintf("/registry/configmaps/default/c%05d", i)] = fmt.Appendf(nil,
							`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c%05d","namespace":"default"},"data":{"k":%q}}`, i, strings.Repeat("x", 900))
					}
					store.Txn(puts, nil)
				}
				put(1)
				client := newListClient(b, benchServer(b, store))
				if changed {
					put(10)
				}
				b.SetBytes(int64(client.list(b)))
				b.ReportAllocs()
				for b.Loop() {
					client.list(b)
				}
			})
		}
	}
}

// listClient is a connection that lists repeatedly.
type listClient struct {
	conn    net.Conn
	request []byte
	buffer  []byte
}

func newListClient(tb testing.TB, server string) *listClient {
	tb.Helper()
	u, err := url.Parse(server)
	if err != nil {
		tb.Fatal(err)
	}
	conn, err := new(net.Dialer).DialContext(tb.Context(), "tcp", u.Host)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	return &listClient{conn: conn, request: []byte("GET " + configMaps + " HTTP/1.1\r\nHost: localhost\r\n\r\n"), buffer: make([]byte, 256<<10)}
}

var (
	endOfHead     = []byte("\r\n\r\n")
	contentLength = []byte("Content-Length: ")
)

// list reads one list, and returns its size in bytes.
func (c *listClient) list(tb testing.TB) int {
	tb.Helper()
	if _, err := c.conn.Write(c.request); err != nil {
		tb.Fatal(err)
	}
	read, end := 0, -1
	for end < 0 {
		read += c.read(tb, read)
		end = bytes.Index(c.buffer[:read], endOfHead)
	}
	_, length, _ := bytes.Cut(c.buffer[:end+2], contentLength)
	digits, _, _ := bytes.Cut(length, endOfHead[:2])
	size, err := strconv.Atoi(string(digits))
	if err != nil {
		tb.Fatal(err)
	}
	for read -= end + len(endOfHead); read < size; {
		read += c.read(tb, 0)
	}
	return read
}

// read reads the available bytes into the buffer.
func (c *listClient) read(tb testing.TB, at int) int {
	tb.Helper()
	n, err := c.conn.Read(c.buffer[at:])
	if err != nil {
		tb.Fatal(err)
	}
	return n
}
