// Package rawhttp reads HTTP responses byte by byte from a connection, for tests.
package rawhttp

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Request is the smallest request of HTTP/1.1.
const Request = "GET / HTTP/1.1\r\nHost: test\r\n\r\n"

// Connect opens a connection and sends the bytes of a request.
func Connect(tb testing.TB, address, request string) (net.Conn, *bufio.Reader) {
	tb.Helper()
	conn, err := new(net.Dialer).DialContext(tb.Context(), "tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		tb.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		tb.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

// ReadHead reads up to the empty line.
func ReadHead(tb testing.TB, r *bufio.Reader) string {
	tb.Helper()
	var head strings.Builder
	for !strings.HasSuffix(head.String(), "\r\n\r\n") {
		line, err := r.ReadString('\n')
		if err != nil {
			tb.Fatalf("after %q: %v", head.String(), err)
		}
		head.WriteString(line)
	}
	return head.String()
}

// ReadChunk reads a chunk.
func ReadChunk(tb testing.TB, r *bufio.Reader) string {
	tb.Helper()
	size, err := r.ReadString('\n')
	if err != nil {
		tb.Fatal(err)
	}
	n, err := strconv.ParseUint(strings.TrimSuffix(size, "\r\n"), 16, 32)
	if err != nil {
		tb.Fatal(err)
	}
	chunk := make([]byte, n+2)
	if _, err := io.ReadFull(r, chunk); err != nil {
		tb.Fatal(err)
	}
	if string(chunk[n:]) != "\r\n" {
		tb.Fatalf("the chunk %q does not end with CR LF", chunk)
	}
	return string(chunk[:n])
}

// Get sends a request with a client and returns the response, whose body is closed when the test ends.
func Get(tb testing.TB, client *http.Client, url string, header ...string) *http.Response {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, url, nil)
	if err != nil {
		tb.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := client.Do(request)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// patience is how long a test waits at most. A loaded machine must not exceed it.
const patience = time.Minute

// Await polls until a condition holds.
func Await(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	for start := time.Now(); !holds(); <-time.After(time.Millisecond) {
		if time.Since(start) > patience {
			tb.Fatalf("waited %v in vain for %s", patience, what)
		}
	}
}
