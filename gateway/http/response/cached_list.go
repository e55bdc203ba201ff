package response

import (
	"bufio"
	"cmp"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"revtail/encoding"
	"revtail/gateway/netio/buffer"
	"revtail/gateway/netio/socket"
	"revtail/gateway/watchcache"
)

const (
	// openingSize is how many bytes of a list are sent with the headers, because net/http buffers 4 KiB for one write.
	openingSize = 3 << 10
	// wholeSize is the size, in bytes, from which a piece is written alone, because copying it would cost more than a write.
	wholeSize = 16 << 10
	// maxPieces is how many pieces one write has, whatever their size, because the connection keeps 16 bytes for each afterwards.
	maxPieces = 256
)

// CachedList is the JSON of a list, in immutable pieces of the watch cache.
type CachedList struct {
	io.Reader // nil: io.ReaderFrom takes a Reader, but calls WriteTo

	head  []byte
	list  *watchcache.List
	size  int
	sent  int           // bytes that have been written
	stall time.Duration // timeout of a write, within which the client must read something
}

// listTail is the end of every list.
var listTail = encoding.AppendListTail(nil)

// ServableFromCache reports whether a list in a view and a format has the documents of the cache unchanged.
func ServableFromCache(v View, f Format) bool {
	_, plain := v.(PlainView)
	_, compact := f.(compactFormat)
	return plain && compact
}

// NewCachedList returns a list that begins with head. It drops the comma that the cache has after the last document.
func NewCachedList(head []byte, list *watchcache.List, stall time.Duration) *CachedList {
	return &CachedList{head: head, list: list, size: len(head) + max(list.Size-1, 0) + len(listTail), stall: stall}
}

// pieces yields the pieces that are not written yet, until the list fails.
func (l *CachedList) pieces(yield func([]byte) bool) {
	skip := l.sent
	next := func(piece []byte) bool {
		skipped := min(skip, len(piece))
		skip -= skipped
		return len(piece) == skipped || yield(piece[skipped:])
	}
	if !next(l.head) {
		return
	}
	left := max(l.list.Size-1, 0)
	for piece := range l.list.Text {
		piece = piece[:min(len(piece), left)]
		left -= len(piece)
		if l.list.Err() != nil || !next(piece) {
			return
		}
	}
	next(listTail)
}

// Write sends the list as the body of a response with a Content-Length. Over HTTP/1.1 without TLS it writes many pieces to the connection
// in one system call, and copies none. It fails with the error of the list when that must not be written on.
func (l *CachedList) Write(w http.ResponseWriter, r *http.Request) error {
	to, ok := unwrapTo[io.ReaderFrom](w)
	if !ok || r.TLS != nil {
		_, err := l.writeWhole(w)
		return err
	}
	if err := l.open(w); err != nil {
		return err
	}
	_, err := to.ReadFrom(l)
	return err
}

// open sends the headers and the first bytes of the list, so that net/http has nothing buffered when the rest is written past it.
func (l *CachedList) open(w http.ResponseWriter) error {
	opening := buffer.Get()
	defer opening.Put()
	for piece := range l.pieces {
		opening.Bytes = append(opening.Bytes, piece[:min(len(piece), openingSize-len(opening.Bytes))]...)
		if len(opening.Bytes) == openingSize {
			break
		}
	}
	n, err := w.Write(opening.Bytes)
	l.sent += n
	if err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

// tcpConn is a connection to which net.Buffers writes in one system call.
type tcpConn interface {
	io.Writer
	syscall.Conn
	socket.WriteDeadliner
}

// WriteTo implements io.WriterTo.
func (l *CachedList) WriteTo(w io.Writer) (int64, error) {
	if conn, ok := w.(tcpConn); ok {
		socket.LimitSendBuffer(conn)
		return l.writeVectors(conn)
	}
	return l.writeWhole(w)
}

var vectors = sync.Pool{New: func() any { return new([maxPieces][]byte) }}

// writeVectors writes up to maxPieces in one system call.
func (l *CachedList) writeVectors(conn tcpConn) (written int64, err error) {
	vector := vectors.Get().(*[maxPieces][]byte)
	defer func() {
		clear(vector[:]) // do not keep documents of the cache alive
		vectors.Put(vector)
	}()
	pieces := vector[:0]
	send := func() bool {
		var n int64
		left := net.Buffers(pieces)
		n, err = socket.WriteAll(conn, l.stall, func() (int64, error) {
			if err := l.list.Err(); err != nil {
				return 0, err
			}
			return left.WriteTo(conn)
		})
		written += n
		pieces = pieces[:0]
		return err == nil
	}
	for piece := range l.pieces {
		if pieces = append(pieces, piece); len(pieces) == maxPieces && !send() {
			return written, err
		}
	}
	if send() {
		err = l.list.Err()
	}
	return written, err
}

// writeWhole writes one piece at a time. It copies small ones together.
func (l *CachedList) writeWhole(w io.Writer) (int64, error) {
	out := bufio.NewWriterSize(w, wholeSize)
	for piece := range l.pieces {
		if len(piece) >= wholeSize {
			_ = out.Flush() // Write returns the error too
		}
		if _, err := out.Write(piece); err != nil {
			return 0, err
		}
	}
	if err := cmp.Or(out.Flush(), l.list.Err()); err != nil {
		return 0, err
	}
	return int64(l.size - l.sent), nil
}
