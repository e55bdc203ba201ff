package transport

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"revtail/gateway/gatewaytest/rawhttp"
	"revtail/gateway/netio/socket"
)

// TestCompressedStreamIsReadableInTurn checks, for each transport and each coding, that the client can decode an event before the next one
// exists, and that one gzip member or zstd frame ends after the last event and nothing follows it.
func TestCompressedStreamIsReadableInTurn(t *testing.T) {
	for _, test := range []struct {
		name   string
		coding string
		start  func(*streamServer)
	}{
		{"gzip on HTTP/1.1", "gzip", func(s *streamServer) { s.Start() }},
		{"gzip on HTTP/1.1 with TLS", "gzip", func(s *streamServer) { s.StartTLS() }},
		{"gzip on HTTP/2", "gzip", func(s *streamServer) { s.EnableHTTP2 = true; s.StartTLS() }},
		{"zstd on HTTP/1.1", "zstd", func(s *streamServer) { s.Start() }},
		{"zstd on HTTP/2", "zstd", func(s *streamServer) { s.EnableHTTP2 = true; s.StartTLS() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			lines := make(chan string)
			server := newStreamServer(t, socket.WriteTimeout, inTurn(lines))
			test.start(server)
			response := rawhttp.Get(t, server.Client(), server.URL, "Accept-Encoding", test.coding)
			if h := response.Header; h.Get("Content-Encoding") != test.coding || h.Get("Vary") != "Accept-Encoding" || h.Get("Content-Type") != "application/json" {
				t.Errorf("header %v", h)
			}
			checkInTurn(t, lines, newDecoded(test.coding, response.Body))
		})
	}
}

// TestCompressedStreamIsReadByGo checks the stream with Go's client, which requests gzip and decodes it by default.
func TestCompressedStreamIsReadByGo(t *testing.T) {
	lines := make(chan string)
	server := newStreamServer(t, socket.WriteTimeout, inTurn(lines))
	server.Start()
	response := rawhttp.Get(t, server.Client(), server.URL)
	if !response.Uncompressed {
		t.Error("the answer was not compressed")
	}
	checkInTurn(t, lines, response.Body)
}

func TestCompressedStreamIsReadByCurl(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("there is no curl on this machine")
	}
	lines := make(chan string)
	server := newStreamServer(t, socket.WriteTimeout, inTurn(lines))
	server.Start()
	command := exec.CommandContext(t.Context(), curl, "--no-buffer", "--silent", "--show-error", "--fail", "--compressed", server.URL)
	var complaints bytes.Buffer
	command.Stderr = &complaints
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	checkInTurn(t, lines, output)
	if err := command.Wait(); err != nil {
		t.Errorf("curl: %v: %s", err, complaints.String())
	}
}

func newDecoded(coding string, r io.Reader) io.Reader {
	return &decoded{coding: coding, from: bufio.NewReader(r)}
}

// decoded decodes a body. It reads only one gzip member, and fails if anything follows it.
type decoded struct {
	coding string
	from   *bufio.Reader
	reader io.Reader // nil until the first read, because a compressed stream begins with its first event
}

var errMore = errors.New("something comes after the compressed stream")

func (d *decoded) Read(p []byte) (int, error) {
	if err := d.begin(); err != nil {
		return 0, err
	}
	n, err := d.reader.Read(p)
	if errors.Is(err, io.EOF) {
		if _, more := d.from.ReadByte(); !errors.Is(more, io.EOF) {
			return n, errMore
		}
	}
	return n, err
}

func (d *decoded) begin() error {
	if d.reader != nil {
		return nil
	}
	if d.coding == "zstd" {
		decoder, err := zstd.NewReader(d.from, zstd.WithDecoderConcurrency(1))
		d.reader = decoder
		return err
	}
	decoder, err := gzip.NewReader(d.from)
	if err != nil {
		return err
	}
	decoder.Multistream(false)
	d.reader = decoder
	return nil
}

func TestCompressedStreamOfNothingIsComplete(t *testing.T) {
	for _, coding := range []string{"gzip", "zstd"} {
		server := newStreamServer(t, socket.WriteTimeout, func(context.Context, *Stream) error { return nil })
		server.Start()
		response := rawhttp.Get(t, server.Client(), server.URL, "Accept-Encoding", coding)
		var raw bytes.Buffer
		if body, err := io.ReadAll(newDecoded(coding, io.TeeReader(response.Body, &raw))); err != nil || len(body) > 0 || raw.Len() == 0 {
			t.Errorf("%s: %q, %v, of %d bytes", coding, body, err, raw.Len())
		}
	}
}

func TestCompressedStreamThatIsBrokenHasNoEnd(t *testing.T) {
	server := newStreamServer(t, socket.WriteTimeout, func(_ context.Context, s *Stream) error {
		if err := s.Write([]byte("one\n")); err != nil {
			return err
		}
		return errors.New("meant by a test")
	})
	server.Start()
	response := rawhttp.Get(t, server.Client(), server.URL)
	if body, err := io.ReadAll(response.Body); err == nil {
		t.Errorf("the client took %q for complete", body)
	}
}

// TestCompressedBatchIsOneChunk checks that the bytes between two flushes are one chunk.
func TestCompressedBatchIsOneChunk(t *testing.T) {
	server := newStreamServer(t, socket.WriteTimeout, func(_ context.Context, s *Stream) error {
		for range 100 {
			s.frame([]byte("a line\n"))
		}
		return s.Flush()
	})
	server.Start()
	_, r := rawhttp.Connect(t, server.Listener.Addr().String(), "GET / HTTP/1.1\r\nHost: test\r\nAccept-Encoding: gzip\r\n\r\n")
	rawhttp.ReadHead(t, r)
	decoder, err := gzip.NewReader(strings.NewReader(rawhttp.ReadChunk(t, r)))
	if err != nil {
		t.Fatal(err)
	}
	body := make([]byte, 700)
	if n, err := io.ReadFull(decoder, body); err != nil {
		t.Errorf("the first chunk holds %d bytes: %v", n, err)
	}
}

// TestCompressedStreamsAreLimited checks that streams beyond the limit are not compressed until a compressed one ends.
func TestCompressedStreamsAreLimited(t *testing.T) {
	const limit = 64
	server := newStreamServer(t, socket.WriteTimeout, func(ctx context.Context, _ *Stream) error {
		<-ctx.Done()
		return nil
	})
	server.Start()
	get := func(coding string) (got string, end func()) {
		response := rawhttp.Get(t, server.Client(), server.URL, "Accept-Encoding", coding)
		return response.Header.Get("Content-Encoding"), func() { _ = response.Body.Close() }
	}
	_, end := get("gzip")
	for n := 1; n < limit; n++ {
		if got, _ := get("gzip"); got != "gzip" {
			t.Fatalf("coding %q of stream %d", got, n)
		}
	}
	if got, _ := get("gzip"); got != "" {
		t.Errorf("coding %q beyond the limit", got)
	}
	end()
	rawhttp.Await(t, "a place among the compressed streams", func() bool {
		got, end := get("zstd")
		end()
		return got == "zstd"
	})
}
