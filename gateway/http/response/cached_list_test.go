package response

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"syscall"
	"testing"

	"revtail/gateway/gatewaytest/rawhttp"
	"revtail/gateway/netio/socket"
	"revtail/gateway/watchcache"
)

// TestPlainConnectionsTakeVectors checks that net/http lets a body write itself, because that makes lists cheap.
func TestPlainConnectionsTakeVectors(t *testing.T) {
	spy := &spyBody{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "4")
		_ = http.NewResponseController(w).Flush()
		to, ok := unwrapTo[io.ReaderFrom](&recorder{ResponseWriter: w})
		if !ok {
			t.Error("net/http does not let the body write itself")
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

// spyBody records the type of the writer.
type spyBody struct {
	io.Reader
	socket bool
}

func (s *spyBody) WriteTo(w io.Writer) (int64, error) {
	_, s.socket = w.(syscall.Conn)
	n, err := io.WriteString(w, "body")
	return int64(n), err
}

// TestListingWrites checks that pieces of all sizes arrive, in few writes.
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
	if n, err := NewCachedList(head, list, socket.WriteTimeout).WriteTo(&collected); err != nil || int(n) != len(want) || collected.text.String() != want {
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
			_, failed = NewCachedList(head, list, socket.WriteTimeout).WriteTo(conn)
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
	for _, piece := range vectors.Get().(*[maxPieces][]byte) {
		if piece != nil {
			t.Fatal("a vector that waits for the next answer keeps a block of a cache alive")
		}
	}
}

// writes counts the writes and collects their bytes.
type writes struct {
	text  bytes.Buffer
	count int
}

func (w *writes) Write(p []byte) (int, error) {
	w.count++
	return w.text.Write(p)
}

// TestBrokenConnectionEndsAListing checks that the list stops reading the cache when its client is gone.
func TestBrokenConnectionEndsAListing(t *testing.T) {
	read := 0
	endless := &watchcache.List{Size: 1 << 30, Text: func(yield func([]byte) bool) {
		for read = 0; read < 1000 && yield(make([]byte, wholeSize)); {
			read++
		}
	}}
	n, err := NewCachedList(nil, endless, socket.WriteTimeout).WriteTo(&discard{err: io.ErrClosedPipe})
	if err == nil || read > 1 {
		t.Errorf("%v after %d bytes and %d pieces", err, n, read)
	}
}

// TestListingOverTLSIsTimedByPieces checks that each piece has its own deadline over TLS, because net/http would set one for the whole
// body.
func TestListingOverTLSIsTimedByPieces(t *testing.T) {
	list := &watchcache.List{Size: 1 << 20, Text: slices.Values([][]byte{bytes.Repeat([]byte("x"), 1<<20)})}
	timed := make(chan int, 1)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		outer := &timedWriter{ResponseWriter: w}
		_ = NewCachedList(nil, list, socket.WriteTimeout).Write(outer, r)
		timed <- outer.bytes
	}))
	defer server.Close()
	response := rawhttp.Get(t, server.Client(), server.URL)
	body, err := io.ReadAll(response.Body)
	if got := <-timed; err != nil || got != len(body) {
		t.Errorf("%d of %d bytes were written without their own deadline: %v", len(body)-got, len(body), err)
	}
}

// timedWriter is the writer that sets a deadline for each write.
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
