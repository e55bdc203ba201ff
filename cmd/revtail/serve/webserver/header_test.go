package webserver

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"revtail/gateway/netio/stranger"
)

// requestsOf reads all requests and their bodies, as net/http does. It returns their paths.
func requestsOf(from io.Reader) (paths []string, err error) {
	in := bufio.NewReader(from)
	for {
		r, err := http.ReadRequest(in)
		if errors.Is(err, io.EOF) {
			return paths, nil
		}
		if err != nil {
			return paths, err
		}
		paths = append(paths, r.URL.Path)
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return paths, err
		}
		if len(r.TransferEncoding) > 0 {
			return paths, nil // closeAfterChunks
		}
	}
}

// reader reads requests by way of a header.
type reader struct {
	header header
	from   io.Reader
}

func (r *reader) Read(p []byte) (int, error) { return r.header.read(r.from, p) }

// TestHeaderRefusesTwoLengths checks which requests net/http gets, however the connection splits them.
func TestHeaderRefusesTwoLengths(t *testing.T) {
	const (
		get  = "GET /get HTTP/1.1\r\nHost: a\r\n\r\n"
		post = "POST /post HTTP/1.1\r\nHost: a\r\ncontent-length: 30\r\n\r\nContent-Length: 1\r\n\r\nno header"
		both = "POST /both HTTP/1.1\r\nContent-Length: 5\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
	)
	for _, tt := range []struct{ sent, paths string }{
		{get + post + get + "POST /chunks HTTP/1.1\nHost: a\nTRANSFER-ENCODING: chunked\n\n3\nabc\n0\n\n" + get, "/get /post /get /chunks"},
		{both + get, ""},
		{get + post + both + get, "/get /post"},
		{strings.Replace(both, "Content-Length: 5\r\n", "", 1), "/both"},
		{strings.ReplaceAll(strings.Replace(both, "Content-Length: 5\r\n", "", 1), "1.1", "1.0") + get, ""},
		{strings.ReplaceAll(get, "Host: a", "Host: a\r\n Content-Length: 5\r\nX: Transfer-Encoding: y"), "/get"},
		{"GET /" + strings.Repeat("x", 100) + " HTTP/1.1\r\nHost: a\r\nContent-Length:" + strings.Repeat(" ", 100) + "3\r\n\r\nabc", ""},
		{"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -3\r\n\r\nabc", ""},
	} {
		for name, split := range map[string]func(io.Reader) io.Reader{
			"at once": func(r io.Reader) io.Reader { return r }, "in halves": iotest.HalfReader, "in bytes": iotest.OneByteReader,
		} {
			paths, err := requestsOf(&reader{from: split(strings.NewReader(tt.sent))})
			if got := strings.Join(paths, " "); got != tt.paths {
				t.Errorf("%q %s: %s, %v; want %s", tt.sent, name, got, err, tt.paths)
			}
		}
	}
}

// TestHeaderLimitsTheLinesOfStrangers checks that a stranger's header with too many lines has no end, and a known client's one.
func TestHeaderLimitsTheLinesOfStrangers(t *testing.T) {
	sent := "GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X:\n", maxLines)
	r := &reader{header: header{stranger: stranger.NewRegistry().Add(func() { t.Error("the stranger is cut") })}, from: strings.NewReader(sent)}
	got, err := io.ReadAll(io.LimitReader(r, 1<<20))
	if lines := bytes.Count(got, []byte("\n")); err != nil || lines > maxLines || len(got) != 1<<20 {
		t.Errorf("net/http gets %d lines and %d bytes, %v", lines, len(got), err)
	}
	if paths, err := requestsOf(&reader{from: strings.NewReader(sent + "\n")}); len(paths) != 1 || err != nil {
		t.Errorf("a known client: %v, %v", paths, err)
	}
}

// FuzzHeader checks that net/http gets what the client sends, or refuses it, and never a request with two lengths.
func FuzzHeader(f *testing.F) {
	f.Add("GET / HTTP/1.1\r\nHost: a\r\n\r\n", uint8(3))
	f.Add("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\nHost: a\r\n\r\n", uint8(100))
	f.Add("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", uint8(7))
	f.Fuzz(func(t *testing.T, sent string, piece uint8) {
		h := header{}
		from := strings.NewReader(sent)
		var got []byte
		for p := make([]byte, int(piece)+1); ; {
			n, err := h.read(from, p)
			if h.invalid {
				return
			}
			got = append(got, p[:n]...)
			if err != nil {
				break
			}
		}
		if string(got) != sent {
			t.Errorf("%q has passed as %q", sent, got)
		}
		in := bufio.NewReader(strings.NewReader(sent))
		if r, err := http.ReadRequest(in); err == nil && len(r.TransferEncoding) > 0 {
			head, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(sent), "\r\n", "\n"), "\n\n")
			if strings.Contains(head, "\ncontent-length:") {
				t.Errorf("%q has two lengths", sent)
			}
		}
	})
}
