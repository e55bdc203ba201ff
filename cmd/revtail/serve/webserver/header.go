package webserver

import (
	"bytes"
	"io"
	"net/http"
	"strconv"

	"revtail/gateway/netio/stranger"
)

const (
	// maxLines is how many lines the header of a stranger's request may have. net/http limits bytes only, and needs a hundred bytes of memory
	// for a field of four.
	maxLines = 512
	// keptLine is how many bytes of a line are kept; a Content-Length is shorter.
	keptLine = 64
	// lineSize and byteSize are what a line of a header, and a byte of it, cost in memory.
	lineSize = 128
	byteSize = 2
)

// header reads the headers of HTTP/1.1 requests before net/http does, which limits neither the number of fields nor the lengths that a
// request may have. It follows the requests of a connection by their Content-Length. After a request with a Transfer-Encoding it stops,
// because closeAfterChunks closes that connection. The goroutine that reads the connection calls its methods.
type header struct {
	stranger *stranger.Stranger
	received []byte // what was read from the connection before, and is read first

	line     []byte // the beginning of a line, or the end of the first one
	lines    int    // of the header
	size     int    // of the header, in bytes
	charged  int    // to the stranger
	version  bool   // the first line ends with HTTP/1.1
	length   int64  // -1: none
	chunked  bool   // the header has a Transfer-Encoding
	body     int64  // bytes of a body that follow
	stopped  bool   // what follows is not read
	overflow bool   // the header has too many lines
	invalid  bool   // the request must be refused
}

// read reads from a connection. If a stranger's header has too many lines, read returns a line without end instead of the rest, so that
// net/http answers 431. A request with two lengths may be two requests for a proxy (RFC 9112, section 6.3): read returns lines that are no
// header fields instead of the rest, so that net/http answers 400 and closes the connection.
func (h *header) read(from io.Reader, p []byte) (int, error) {
	if h.overflow || h.invalid {
		return h.refuse(p), nil
	}
	n, err := h.next(from, p)
	if h.stopped || n == 0 {
		return n, err
	}
	before := h.scan(p[:n])
	h.charge()
	h.overflow = h.lines > maxLines && !h.stranger.IsKnown()
	switch {
	case h.invalid && before > 0:
		return before, nil
	case h.invalid || h.overflow:
		return h.refuse(p), nil
	}
	return n, err
}

// next reads what was received before, or from the connection.
func (h *header) next(from io.Reader, p []byte) (int, error) {
	if len(h.received) == 0 {
		return from.Read(p)
	}
	n := copy(p, h.received)
	h.received = h.received[n:]
	return n, nil
}

// refuse fills p with what net/http refuses.
func (h *header) refuse(p []byte) int {
	refused := "xx"
	if h.invalid {
		refused = ":\n"
	}
	for i := range p {
		p[i] = refused[i%len(refused)]
	}
	return len(p)
}

// charge charges the stranger for the header.
func (h *header) charge() {
	if h.stranger.IsKnown() {
		return
	}
	if cost := h.lines*lineSize + h.size*byteSize; cost > h.charged {
		h.stranger.Charge(cost - h.charged)
		h.charged = cost
	}
}

// answered is called when a request has been answered.
func (h *header) answered() {
	if !h.stranger.IsKnown() {
		h.stranger.Charge(-h.charged)
		h.charged = 0
		h.stranger.Step()
	}
}

// stop is called when the connection has been hijacked.
func (h *header) stop() { h.stopped = true }

// scan reads the bytes of headers in p. If a request is invalid, scan returns how many bytes are before it.
func (h *header) scan(p []byte) (before int) {
	for at := 0; at < len(p) && !h.stopped && !h.invalid; {
		if h.size == 0 {
			n := int(min(h.body, int64(len(p)-at)))
			h.body -= int64(n)
			at += n
			before = at
		}
		end := bytes.IndexByte(p[at:], '\n') + 1
		if end == 0 {
			h.keep(p[at:])
			break
		}
		h.keep(p[at : at+end])
		at += end
		h.endLine()
	}
	return before
}

// keep keeps the beginning of a line, but the end of the first one.
func (h *header) keep(part []byte) {
	if len(part) == 0 {
		return
	}
	if h.size == 0 {
		h.length = -1
	}
	h.size += len(part)
	if h.lines > 0 {
		h.line = append(h.line, part[:min(len(part), keptLine-len(h.line))]...)
		return
	}
	h.line = append(h.line, part[max(0, len(part)-keptLine):]...)
	h.line = h.line[:copy(h.line, h.line[max(0, len(h.line)-keptLine):])]
}

func (h *header) endLine() {
	line := bytes.TrimRight(h.line, "\r\n")
	h.lines++
	name, value, _ := bytes.Cut(line, []byte(":"))
	switch {
	case h.lines == 1:
		h.version = bytes.HasSuffix(line, []byte("HTTP/1.1"))
	case len(line) == 0:
		h.end()
	case bytes.EqualFold(name, []byte("Content-Length")):
		length, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
		h.invalid = err != nil || length < 0 || len(h.line) == keptLine
		h.length = length
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		h.chunked = true
	}
	h.line = h.line[:0]
	if h.chunked && (h.length >= 0 || !h.version) { // HTTP/1.0 has no Transfer-Encoding
		h.invalid = true
	}
}

// end is called at the end of a header.
func (h *header) end() {
	h.stopped = h.chunked
	h.body = max(h.length, 0)
	h.lines, h.size, h.chunked, h.length = 0, 0, false, -1
}

// closeAfterChunks closes a connection of HTTP/1.1 after a request with a Transfer-Encoding, because header cannot tell where it ends.
func closeAfterChunks(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 && len(r.TransferEncoding) > 0 {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
