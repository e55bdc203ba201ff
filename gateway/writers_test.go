package gateway

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
	"revtail/gateway/netio/http2"
	"revtail/gateway/watchcache"
)

// writerServer is a gateway whose sockets take little at once.
type writerServer struct {
	*testServer
	front    *httptest.Server
	protocol string // plain, TLS or HTTP/2
	window   uint32 // of a client of HTTP/2; zero: what HTTP/2 gives
}

// needWriters skips a test where there are none.
func needWriters(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skipf("no writers on %s: they are for Linux, where CI runs this", runtime.GOOS)
	}
}

// overAll runs a test of writers over all that they serve.
func overAll(t *testing.T, stall time.Duration, test func(t *testing.T, s *writerServer)) {
	needWriters(t)
	for _, protocol := range []string{"plain", "TLS", "HTTP/2"} {
		t.Run(protocol, func(t *testing.T) { test(t, newWriterServer(t, protocol, stall)) })
	}
}

func newWriterServer(t *testing.T, protocol string, stall time.Duration) *writerServer {
	t.Helper()
	store := memory.New()
	return writeThrough(t, store, store, protocol, stall)
}

// writeThrough starts one that sees a store through another one.
func writeThrough(t *testing.T, store *memory.Store, through etcdstore.Store, protocol string, stall time.Duration) *writerServer {
	t.Helper()
	server, err := New(Options{Store: through, Prefix: "/registry", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	server.loops.writeTimeout, server.watches.opener.writeTimeout = stall, stall
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Run(ctx)
	}()
	if err := server.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	front := httptest.NewUnstartedServer(server)
	front.Listener = narrowListener{front.Listener}
	if front.EnableHTTP2 = protocol == "HTTP/2"; front.EnableHTTP2 {
		if err := http2.Configure(front.Config); err != nil {
			t.Fatal(err)
		}
	}
	if protocol == "plain" {
		front.Start()
	} else {
		front.Listener = interceptListener{front.Listener, stall}
		front.StartTLS()
	}
	api := httptest.NewServer(server)
	t.Cleanup(func() {
		for _, f := range []*httptest.Server{front, api} {
			f.CloseClientConnections()
			f.Close()
		}
		cancel()
		<-ended
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return &writerServer{testServer: &testServer{t: t, store: store, server: server, url: api.URL}, front: front, protocol: protocol}
}

// smallBuffer is the size of the system's buffers: it makes more of it, but little.
const smallBuffer = 8 << 10

type narrowListener struct{ net.Listener }

func (l narrowListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		err = conn.(*net.TCPConn).SetWriteBuffer(smallBuffer)
	}
	return conn, err
}

// watchFrom opens a watch, waits until a writer has it, and returns its connection and its body.
func (s *writerServer) watchFrom(revision any, query string) (net.Conn, *bufio.Reader) {
	s.t.Helper()
	before := s.adopted()
	dialer := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) {
			_ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, smallBuffer)
		})
	}}
	conn, err := dialer.DialContext(s.t.Context(), "tcp", s.front.Listener.Addr().String())
	if err != nil {
		s.t.Fatal(err)
	}
	if s.protocol != "plain" {
		next := map[string]string{"TLS": "http/1.1", "HTTP/2": "h2"}[s.protocol]
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{next}})
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		s.t.Fatal(err)
	}
	path := fmt.Sprintf("%s?watch=1&resourceVersion=%v%s", configMaps, revision, query)
	if s.protocol == "HTTP/2" {
		body := askHTTP2(s.t, conn, path, s.window)
		await(s.t, "a writer to have the watch", func() bool { return s.adopted() > before })
		return conn, bufio.NewReader(body)
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path); err != nil {
		s.t.Fatal(err)
	}
	var head strings.Builder // byte by byte: what follows is left to the caller
	for one := make([]byte, 1); !strings.HasSuffix(head.String(), "\r\n\r\n"); head.Write(one) {
		if _, err := io.ReadFull(conn, one); err != nil {
			s.t.Fatalf("after %q: %v", head.String(), err)
		}
	}
	await(s.t, "a writer to have the watch", func() bool { return s.adopted() > before })
	return conn, bufio.NewReader(httputil.NewChunkedReader(conn))
}

// adopted is how many watches writers have taken over so far.
func (s *writerServer) adopted() int {
	s.server.loops.mu.Lock()
	defer s.server.loops.mu.Unlock()
	return s.server.loops.adopted
}

// clients calls f on the writers' goroutines for each client.
func (s *writerServer) clients(f func(*client)) {
	s.server.loops.mu.Lock()
	each := s.server.loops.loops
	s.server.loops.mu.Unlock()
	for _, w := range each {
		done := make(chan struct{})
		w.post(func() {
			defer close(done)
			for _, c := range w.clients {
				f(c)
			}
		})
		<-done
	}
}

// parked is how many clients do not take what there is for them.
func (s *writerServer) parked() (n int) {
	s.clients(func(c *client) {
		if len(c.unsent) > 0 {
			n++
		}
	})
	return n
}

func (s *writerServer) open() int {
	s.server.watches.registry.mu.Lock()
	defer s.server.watches.registry.mu.Unlock()
	return len(s.server.watches.registry.open)
}

// large writes an object of about 1 MiB; its value begins with a number.
func (s *writerServer) large(number int) { s.sized(number, 1<<20) }

func (s *writerServer) sized(number, size int) {
	s.store.Txn(map[string][]byte{"/registry/configmaps/default/large": fmt.Appendf(nil,
		`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"large","namespace":"default"},"data":{"value":"%d%s"}}`,
		number, strings.Repeat("x", size))}, nil)
}

// expectLarge reads the events of large objects, from one number to another.
func (s *writerServer) expectLarge(body *bufio.Reader, from, to int) {
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

func TestWriterKeepsTheRestOfAShortWrite(t *testing.T) {
	overAll(t, writeTimeout, func(t *testing.T, s *writerServer) {
		revision := s.create("first")
		_, late := s.watchFrom(revision, "")
		_, prompt := s.watchFrom(revision, "")
		for number := range 3 {
			s.large(number)
			s.expectLarge(prompt, number, number) // whatever the other one does
		}
		await(t, "a client that takes nothing", func() bool { return s.parked() == 1 })
		s.expectLarge(late, 0, 2)
		await(t, "nobody to wait", func() bool { return s.parked() == 0 })
	})
}

// The log holds 8 MiB: a client that sleeps longer is given back to a goroutine, reads etcd's history, and comes again.
func TestWriterGivesBackWhoFallsBehind(t *testing.T) {
	overAll(t, writeTimeout, func(t *testing.T, s *writerServer) {
		conn, body := s.watchFrom(s.create("first"), "")
		adopted := s.adopted()
		const events = 40 // each counts twice in the log: as it is, and as it was
		for number := range events {
			s.large(number)
		}
		s.expectLarge(body, 0, events-1)
		await(t, "the watch to be adopted again", func() bool { return s.adopted() > adopted })
		s.large(events)
		s.expectLarge(body, events, events)
		_ = conn.Close()
		await(t, "the watch to end", func() bool { return s.open() == 0 })
	})
}

// A watch may be given back in the moment in which it is adopted: it goes on all the same, here to its ERROR.
func TestWriterGivesBackAtOnce(t *testing.T) {
	overAll(t, writeTimeout, func(t *testing.T, s *writerServer) {
		s.create("first")
		s.create("second")
		if err := s.store.Compact(3); err != nil {
			t.Fatal(err)
		}
		client := s.front.Client()
		var opening sync.WaitGroup
		for range 16 {
			opening.Go(func() {
				for range 40 {
					r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.front.URL+configMaps+"?watch=1&resourceVersion=1", nil)
					if err != nil {
						t.Error(err)
						return
					}
					answer, err := client.Do(r)
					if err != nil {
						t.Error(err)
						return
					}
					body, err := io.ReadAll(answer.Body)
					_ = answer.Body.Close()
					if err != nil || !bytes.HasPrefix(body, []byte(`{"type":"ERROR"`)) {
						t.Errorf("the answer is %q, %v", body, err)
					}
				}
			})
		}
		opening.Wait()
		client.CloseIdleConnections()
	})
}

func TestWriterCutsWhoTakesNothing(t *testing.T) {
	overAll(t, 200*time.Millisecond, func(t *testing.T, s *writerServer) {
		_, body := s.watchFrom(s.create("first"), "")
		s.large(0)
		await(t, "the watch to end", func() bool { return s.open() == 0 })
		if n, err := io.Copy(io.Discard, body); err == nil {
			t.Errorf("the client took %d bytes for complete", n)
		}
	})
}

func TestWriterNoticesWhoLeaves(t *testing.T) {
	for name, leave := range map[string]func(net.Conn) error{
		"closed": func(conn net.Conn) error { return conn.Close() },
		"said good-bye": func(conn net.Conn) error {
			if secure, ok := conn.(*tls.Conn); ok {
				return secure.CloseWrite()
			}
			return conn.(*net.TCPConn).CloseWrite()
		},
		"talks too much": func(conn net.Conn) error {
			_, _ = conn.Write(make([]byte, 2*maxClientBytes)) // it may break on the way
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			overAll(t, writeTimeout, func(t *testing.T, s *writerServer) {
				if s.protocol == "HTTP/2" && name == "talks too much" {
					t.Skip("what is no frame is refused by net/http")
				}
				revision := s.create("first")
				idle, _ := s.watchFrom(revision, "")
				parked, _ := s.watchFrom(revision, "")
				if err := leave(idle); err != nil {
					t.Fatal(err)
				}
				await(t, "the idle watch to end", func() bool { return s.open() == 1 })
				s.large(0)
				await(t, "the other one to be parked", func() bool { return s.parked() == 1 })
				if err := leave(parked); err != nil {
					t.Fatal(err)
				}
				await(t, "the parked watch to end", func() bool { return s.open() == 0 })
				if n := s.server.Departed(); n != 2 {
					t.Errorf("%d watches are said to have ended, want 2", n)
				}
			})
		})
	}
}

// brokenView panics at the first event.
type brokenView struct{ view }

func (brokenView) object([]byte) []byte { panic("meant by a test") }

// TestPanicBreaksTheStream: what a watch got before a mistake of ours is not taken for all there was, and the watch leaves
// nothing behind.
func TestPanicBreaksTheStream(t *testing.T) {
	for _, test := range []struct {
		name          string
		secure, http2 bool
	}{{"HTTP/1.1", false, false}, {"TLS HTTP/1.1", true, false}, {"HTTP/2", true, true}} {
		t.Run(test.name, func(t *testing.T) {
			s := newTestServer(t)
			s.create("first")
			var cache *runningCache
			for res, c := range s.server.catalog.current().caches {
				if res.Plural == "configmaps" {
					cache = c
				}
			}
			front := httptest.NewUnstartedServer(s.server.chain.recoverPanic(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				entry, ctx, _ := s.server.watches.registry.add(r.Context(), nil)
				watcher, err := cache.Watch(watchcache.WatchQuery{})
				if err != nil {
					t.Error(err)
					return
				}
				wt := &session{service: s.server.watches, watcher: watcher, encoder: kubernetesEncoder{brokenView{}}, deadline: time.Now().Add(time.Hour), bookmarkEvery: bookmarkPeriod,
					registration: entry, cache: cache.Cache, done: func() {}, counters: s.server.watches.stats.add(r, cache.Cache, "configmaps")}
				wt.serve(ctx, w, r)
			})))
			front.Listener = Listen(front.Listener)
			front.EnableHTTP2 = test.http2
			if test.secure {
				front.StartTLS()
			} else {
				front.Start()
			}
			defer front.Close()
			response := open(t, front.Client(), front.URL, "Accept-Encoding", "identity")
			s.create("second")
			if body, err := io.ReadAll(response.Body); err == nil {
				t.Errorf("the client took %q for complete", body)
			}
			await(t, "the watch to be gone", func() bool {
				s.server.watches.registry.mu.Lock()
				defer s.server.watches.registry.mu.Unlock()
				return len(s.server.watches.registry.open) == 0 && cache.Stats().Watchers == 0
			})
		})
	}
}
