package response

import (
	"io"
	"net/http"
	"syscall"
	"time"

	"revtail/encoding"
	"revtail/gateway/netio/buffer"
	"revtail/gateway/netio/socket"
	"revtail/gateway/watchcache"
)

const (
	// openingSize is how much of a list goes with the head of the answer: what net/http collects for one write is 4 KiB.
	openingSize = 3 << 10
	// wholeSize is from which size on a piece is not worth to be copied beside others for one write.
	wholeSize = 16 << 10
)

// CachedList is a list whose bytes are there already, in pieces that nobody changes.
type CachedList struct {
	io.Reader // what ReadFrom wants; it finds WriteTo, and never reads

	head  []byte
	list  *watchcache.List
	size  int
	sent  int           // how many bytes have been written
	stall time.Duration // how long its client may take nothing of it
}

// listTail is the end of every list.
var listTail = encoding.AppendListTail(nil)

// ServableFromCache tells whether a list is the documents as they stand in memory.
func ServableFromCache(v View, f Format) bool {
	_, plain := v.(PlainView)
	_, compact := f.(compactFormat)
	return plain && compact
}

// NewCachedList makes one that begins with head. The documents have a comma behind each: the last one is left out.
func NewCachedList(head []byte, list *watchcache.List, stall time.Duration) *CachedList {
	return &CachedList{head: head, list: list, size: len(head) + max(list.Size-1, 0) + len(listTail), stall: stall}
}

// pieces yields what has not been written yet.
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
		if !next(piece) {
			return
		}
	}
	next(listTail)
}

// Write sends the list as the body of an answer whose head says how long it is. Over plain HTTP/1.1 the pieces go to the
// connection as they are, many in one write.
func (l *CachedList) Write(w http.ResponseWriter, r *http.Request) error {
	if to, ok := readerFrom(w); ok && r.TLS == nil {
		if err := l.open(w); err != nil {
			return err
		}
		_, err := to.ReadFrom(l)
		return err
	}
	_, err := l.writeWhole(w)
	return err
}

// open sends the head of the answer, and the first bytes of the list with it: the client has something to read while the rest is
// written, and net/http is out of the way.
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

// readerFrom is how net/http lets a body have the connection, if it does.
func readerFrom(w http.ResponseWriter) (io.ReaderFrom, bool) {
	for {
		if to, ok := w.(io.ReaderFrom); ok {
			return to, true
		}
		wrapper, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return nil, false
		}
		w = wrapper.Unwrap()
	}
}

// WriteTo implements io.WriterTo.
func (l *CachedList) WriteTo(w io.Writer) (int64, error) {
	if conn, ok := w.(syscall.Conn); ok {
		socket.LimitSendBuffer(conn)
		return l.writeVectors(w)
	}
	return l.writeWhole(w)
}

// writeVectors writes to a socket.
func (l *CachedList) writeVectors(w io.Writer) (int64, error) {
	v := newWritev(w, l.stall)
	for piece := range l.pieces {
		if !v.add(piece) {
			break
		}
	}
	return v.end()
}

// writeWhole writes to what takes one piece at a time: small ones are collected.
func (l *CachedList) writeWhole(w io.Writer) (written int64, err error) {
	collected := buffer.Get()
	defer collected.Put()
	write := func(p []byte) bool {
		var n int
		n, err = w.Write(p)
		written += int64(n)
		return err == nil
	}
	for piece := range l.pieces {
		whole := len(piece) >= wholeSize
		if b := collected.Bytes; len(b) > 0 && (whole || len(b)+len(piece) > flushSize) {
			if !write(b) {
				return written, err
			}
			collected.Bytes = b[:0]
		}
		if !whole {
			collected.Bytes = append(collected.Bytes, piece...)
		} else if !write(piece) {
			return written, err
		}
	}
	write(collected.Bytes)
	return written, err
}
