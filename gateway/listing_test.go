package gateway

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"revtail/gateway/gatewaytest/rawhttp"
	"revtail/gateway/netio/socket"
	"revtail/gateway/watchcache"
)

// roads are ways to a server: each answers with a body, and what the head says of it.
func (s *testServer) roads() map[string]func(path string, header ...string) (string, *http.Response) {
	secure := httptest.NewUnstartedServer(s.server)
	secure.EnableHTTP2 = true
	secure.StartTLS()
	s.t.Cleanup(secure.Close)
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	road := func(url string, protocols func(*http.Protocols)) func(string, ...string) (string, *http.Response) {
		transport := &http.Transport{DisableCompression: true, Protocols: new(http.Protocols), TLSClientConfig: &tls.Config{RootCAs: roots}}
		protocols(transport.Protocols)
		s.t.Cleanup(transport.CloseIdleConnections)
		return func(path string, header ...string) (string, *http.Response) {
			request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, url+path, nil)
			if err != nil {
				s.t.Fatal(err)
			}
			for i := 0; i < len(header); i += 2 {
				request.Header.Set(header[i], header[i+1])
			}
			response, err := transport.RoundTrip(request)
			if err != nil {
				s.t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			body, err := io.ReadAll(response.Body)
			if err != nil {
				s.t.Fatal(err)
			}
			return string(body), response
		}
	}
	return map[string]func(string, ...string) (string, *http.Response){
		"HTTP/1.1":     road(s.url, func(p *http.Protocols) { p.SetHTTP1(true) }),
		"TLS HTTP/1.1": road(secure.URL, func(p *http.Protocols) { p.SetHTTP1(true) }),
		"HTTP/2":       road(secure.URL, func(p *http.Protocols) { p.SetHTTP2(true) }),
	}
}

// TestListsAreTheSameOnEveryRoad: whatever carries a list, and however its documents stand in memory, it is their text.
func TestListsAreTheSameOnEveryRoad(t *testing.T) {
	s := newTestServer(t)
	s.fill(2000)
	for i := range 100 {
		s.do(http.MethodPatch, fmt.Sprintf("%s/c%04d", configMaps, i*i%2000), `{"data":{"k":"`+strings.Repeat("y", i*20)+`"}}`, "Content-Type", "application/merge-patch+json")
	}
	roads := s.roads()
	for _, query := range []string{"", "?limit=1", "?limit=30", "?limit=1500", "?resourceVersion=0", "?fieldSelector=metadata.name%3Dc0001", "?labelSelector=none"} {
		want, _ := roads["HTTP/1.1"](configMaps+query, "Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
		names := itemNames(t, want)
		first := ""
		for name, road := range roads {
			for range 2 { // on the same connection
				body, response := road(configMaps + query)
				if length := response.Header.Get("Content-Length"); !strings.Contains(query, "Selector") && length != fmt.Sprint(len(body)) {
					t.Errorf("%s over %s: Content-Length %q of %d", query, name, length, len(body))
				}
				if got := itemNames(t, body); !slices.Equal(got, names) {
					t.Fatalf("%s over %s: %d items, want %d", query, name, len(got), len(names))
				}
				if first == "" {
					first = body
				}
				if body != first {
					t.Errorf("%s over %s is another text", query, name)
				}
			}
			packed, response := road(configMaps+query, "Accept-Encoding", "gzip")
			if response.Header.Get("Content-Encoding") == "gzip" {
				packed = gunzip(t, packed)
			}
			if packed != first {
				t.Errorf("%s over %s with gzip is another text", query, name)
			}
		}
	}
	head := s.do(http.MethodHead, configMaps, "")
	if body, _ := roads["HTTP/1.1"](configMaps); head.body != "" || head.header.Get("Content-Length") != fmt.Sprint(len(body)) {
		t.Errorf("HEAD: %d bytes, %v", len(head.body), head.header)
	}
}

func itemNames(t *testing.T, body string) []string {
	t.Helper()
	var list struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatalf("%v: %.300s", err, body)
	}
	names := make([]string, len(list.Items))
	for i, item := range list.Items {
		names[i] = item.Metadata.Name
	}
	return names
}

// TestPlainConnectionsTakeVectors: what net/http does for a body that can write itself is what makes lists cheap.
func TestPlainConnectionsTakeVectors(t *testing.T) {
	spy := &spyBody{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "4")
		_ = http.NewResponseController(w).Flush()
		to, ok := readerFrom(&recorder{ResponseWriter: w})
		if !ok {
			t.Error("net/http takes no body")
			return
		}
		_, _ = to.ReadFrom(spy)
	}))
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != "body" || !spy.socket {
		t.Errorf("%q, %v; to a socket: %t", body, err, spy.socket)
	}
}

// spyBody notes what it is written to.
type spyBody struct {
	io.Reader
	socket bool
}

func (s *spyBody) WriteTo(w io.Writer) (int64, error) {
	_, s.socket = w.(syscall.Conn)
	n, err := io.WriteString(w, "body")
	return int64(n), err
}

// TestListingWrites: pieces of all sizes arrive, in few writes.
func TestListingWrites(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var pieces [][]byte
	size := 0
	for range 3000 {
		piece := bytes.Repeat([]byte{byte('a' + random.IntN(26))}, 1+random.IntN(2000))
		if random.IntN(20) == 0 {
			piece = bytes.Repeat([]byte("Z"), 60_000)
		}
		pieces, size = append(pieces, piece), size+len(piece)
	}
	all := bytes.Join(pieces, nil)
	head, list := []byte("head"), &watchcache.List{Size: size, Text: slices.Values(pieces)}
	want := "head" + string(all[:size-1]) + "]}\n"

	var collected writes
	if n, err := newListing(head, list, socket.WriteTimeout).WriteTo(&collected); err != nil || int(n) != len(want) || collected.text.String() != want {
		t.Errorf("%d bytes, %v: not the list", n, err)
	}
	if most := 2 * len(want) / wholeSize; collected.count > most {
		t.Errorf("%d writes for %d bytes, more than %d", collected.count, len(want), most)
	}

	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	sent := make(chan error, 1)
	go func() {
		conn, failed := listener.Accept()
		if failed == nil {
			_, failed = newListing(head, list, socket.WriteTimeout).WriteTo(conn)
			_ = conn.Close()
		}
		sent <- failed
	}()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	got, err := io.ReadAll(conn)
	if failed := <-sent; err != nil || failed != nil || string(got) != want {
		t.Errorf("%d bytes of %d through a socket: %v, %v", len(got), len(want), err, failed)
	}
}

// writes counts what it is given.
type writes struct {
	text  bytes.Buffer
	count int
}

func (w *writes) Write(p []byte) (int, error) {
	w.count++
	return w.text.Write(p)
}

// TestBrokenConnectionEndsAListing: nothing more is read of the cache for a client that has gone.
func TestBrokenConnectionEndsAListing(t *testing.T) {
	read := 0
	endless := &watchcache.List{Size: 1 << 30, Text: func(yield func([]byte) bool) {
		for read = 0; read < 1000 && yield(make([]byte, wholeSize)); {
			read++
		}
	}}
	n, err := newListing(nil, endless, socket.WriteTimeout).WriteTo(&discard{err: io.ErrClosedPipe})
	if err == nil || read > 1 {
		t.Errorf("%v after %d bytes and %d pieces", err, n, read)
	}
}

// TestStalledAnswerIsCut: an answer of which nothing is taken ends, whatever it is and on whatever road, and one that is taken slowly
// does not.
func TestStalledAnswerIsCut(t *testing.T) {
	document := bytes.Repeat([]byte("x"), 64<<10)
	whole := &watchcache.List{Size: 512 * len(document), Text: func(yield func([]byte) bool) {
		for range 512 {
			if !yield(document) {
				return
			}
		}
	}}
	answers := map[string]func(w http.ResponseWriter, r *http.Request) error{
		"listing": func(w http.ResponseWriter, r *http.Request) error {
			return newListing(nil, whole, 100*time.Millisecond).write(w, r)
		},
		"pieces": func(w http.ResponseWriter, _ *http.Request) (err error) {
			for n := 0; n < 512 && err == nil; n++ {
				_, err = w.Write(document)
			}
			return err
		},
	}
	roads := map[string]func(*httptest.Server){
		"HTTP/1.1": func(s *httptest.Server) { s.Start() },
		"TLS":      func(s *httptest.Server) { s.StartTLS() },
		"HTTP/2":   func(s *httptest.Server) { s.EnableHTTP2 = true; s.StartTLS() },
	}
	for kind, answer := range answers {
		for road, start := range roads {
			t.Run(kind+" "+road, func(t *testing.T) {
				t.Parallel()
				c := &chain{writeTimeout: 100 * time.Millisecond}
				ended := make(chan error, 1)
				server := httptest.NewUnstartedServer(c.cutStalled(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { ended <- answer(w, r) })))
				t.Cleanup(server.Close)
				start(server)
				response := rawhttp.Get(t, server.Client(), server.URL)
				if err := <-ended; err == nil {
					t.Error("32 MiB went to a client that reads nothing")
				}
				if _, err := io.Copy(io.Discard, response.Body); err == nil {
					t.Error("the client took the answer for complete")
				}
			})
		}
	}
}

// TestListingOverTLSIsTimedByPieces: what net/http takes as a whole over TLS would have one deadline for all of it.
func TestListingOverTLSIsTimedByPieces(t *testing.T) {
	list := &watchcache.List{Size: 1 << 20, Text: slices.Values([][]byte{bytes.Repeat([]byte("x"), 1<<20)})}
	timed := make(chan int, 1)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		outer := &timedWriter{ResponseWriter: w}
		_ = newListing(nil, list, socket.WriteTimeout).write(outer, r)
		timed <- outer.bytes
	}))
	defer server.Close()
	response := rawhttp.Get(t, server.Client(), server.URL)
	body, err := io.ReadAll(response.Body)
	if got := <-timed; err != nil || got != len(body) {
		t.Errorf("%d of %d bytes went past what gives each piece its time: %v", len(body)-got, len(body), err)
	}
}

// timedWriter stands where each write gets its time.
type timedWriter struct {
	http.ResponseWriter
	bytes int
}

func (w *timedWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.bytes += n
	return n, err
}

func (w *timedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// TestVectorHoldsNothing: a vector that waits for the next answer keeps no block of a cache alive.
func TestVectorHoldsNothing(t *testing.T) {
	var sent writes
	v := newVector(&sent, socket.WriteTimeout)
	for range vectorMost + 1 {
		v.add([]byte("piece"))
	}
	pieces := v.pieces[:cap(v.pieces)]
	if n, err := v.end(); err != nil || int(n) != sent.text.Len() || n != 5*(vectorMost+1) {
		t.Errorf("%d bytes, %v", n, err)
	}
	for _, piece := range pieces {
		if piece != nil {
			t.Fatal("a piece is still held")
		}
	}
}
