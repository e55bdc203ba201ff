package eventloop

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"strings"
	"syscall"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/gatewaytest/rawhttp"
)

// smallBuffer is the requested size of the kernel's socket buffers, in bytes. The kernel uses somewhat more.
const smallBuffer = 8 << 10

type narrowListener struct{ net.Listener }

func (l narrowListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		err = conn.(*net.TCPConn).SetWriteBuffer(smallBuffer)
	}
	return conn, err
}

// watchFrom opens a watch, waits until the event loop has adopted it, if there is one, and returns its connection and its body.
func (s *loopServer) watchFrom(revision etcdstore.Revision, query string) (net.Conn, *bufio.Reader) {
	s.t.Helper()
	before := s.adoptions.Load()
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, smallBuffer)
		})
	}}
	conn, err := dialer.DialContext(s.t.Context(), "tcp", s.front.Listener.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	if s.variant.protocol != "plain" {
		next := map[string]string{"TLS": "http/1.1", "HTTP/2": "h2"}[s.variant.protocol]
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{next}})
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		s.t.Fatal(err)
	}
	path := fmt.Sprintf("/?resourceVersion=%v%s", revision, query)
	if s.variant.protocol == "HTTP/2" {
		body := askHTTP2(s.t, conn, path, s.window)
		s.awaitAdoption(before)
		return conn, bufio.NewReader(body)
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path); err != nil {
		s.t.Fatal(err)
	}
	var head strings.Builder // byte by byte, because the caller reads the bytes after the header
	for one := make([]byte, 1); !strings.HasSuffix(head.String(), "\r\n\r\n"); head.Write(one) {
		if _, err := io.ReadFull(conn, one); err != nil {
			s.t.Fatalf("after %q: %v", head.String(), err)
		}
	}
	s.awaitAdoption(before)
	return conn, bufio.NewReader(httputil.NewChunkedReader(conn))
}

// awaitAdoption waits until the event loop has adopted more sessions than before, if there is an event loop.
func (s *loopServer) awaitAdoption(before int64) {
	s.t.Helper()
	if s.variant.adopts() {
		rawhttp.Await(s.t, "the watch to be adopted", func() bool { return s.adoptions.Load() > before })
	}
}

// create writes an object and returns its revision.
func (s *loopServer) create(name string) etcdstore.Revision {
	return s.store.Txn(map[string][]byte{"/registry/configmaps/default/" + name: fmt.Appendf(nil,
		`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":%q,"namespace":"default"}}`, name)}, nil)
}

// large writes an object of about 1 MiB whose value begins with number.
func (s *loopServer) large(number int) { s.sized(number, 1<<20) }

func (s *loopServer) sized(number, size int) {
	s.store.Txn(map[string][]byte{"/registry/configmaps/default/large": fmt.Appendf(nil,
		`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"large","namespace":"default"},"data":{"value":"%d%s"}}`,
		number, strings.Repeat("x", size))}, nil)
}

// expectLarge reads the events of the large objects that are numbered from through to.
func (s *loopServer) expectLarge(body *bufio.Reader, from, to int) {
	s.t.Helper()
	for number := from; number <= to; number++ {
		line, err := body.ReadString('\n')
		if err != nil || !strings.Contains(line, fmt.Sprintf(`"value":"%dx`, number)) {
			s.t.Fatalf("event %d: %d bytes, %.200s, %v", number, len(line), line, err)
		}
		if whole := strings.Count(line, "x"); whole < 1<<20 {
			s.t.Fatalf("event %d is not whole: %d of %d", number, whole, 1<<20)
		}
	}
}
