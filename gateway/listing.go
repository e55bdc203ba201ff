package gateway

import (
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"syscall"
	"time"

	"revtail/encoding"
	"revtail/gateway/watchcache"
)

const (
	// vectorMost is how many pieces go into one write, and vectorSize about how many bytes: what the kernel takes at once.
	vectorMost = 256
	vectorSize = 4 << 20
	// wholeSize is from which size on a piece is not worth to be copied beside others for one write.
	wholeSize = 16 << 10
)

// listing is a list whose bytes are there already, in pieces that nobody changes.
type listing struct {
	size   int
	pieces iter.Seq[[]byte]
	stall  time.Duration // how long its client may take nothing of it
}

// verbatim tells whether a list is the documents as they stand in memory.
func verbatim(v view, f format) bool {
	_, plain := v.(plainView)
	_, compact := f.(compactFormat)
	return plain && compact
}

// newListing makes one that begins with head. The documents have a comma behind each: the last one is left out.
func newListing(head []byte, list *watchcache.List, stall time.Duration) listing {
	tail, size := encoding.AppendListTail(nil), max(list.Size-1, 0)
	return listing{size: len(head) + size + len(tail), stall: stall, pieces: func(yield func([]byte) bool) {
		if !yield(head) {
			return
		}
		left := size
		for piece := range list.Text {
			piece = piece[:min(len(piece), left)]
			left -= len(piece)
			if len(piece) > 0 && !yield(piece) {
				return
			}
		}
		yield(tail)
	}}
}

// write sends the list as the body of an answer whose head says how long it is. Over plain HTTP/1.1 the pieces go to the
// connection as they are, many in one write.
func (l listing) write(w http.ResponseWriter) error {
	// The head goes first: net/http is then out of the way.
	if err := http.NewResponseController(w).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if to, ok := readerFrom(w); ok {
		_, err := to.ReadFrom(l.reader())
		return err
	}
	_, err := l.WriteTo(w)
	return err
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

// reader is the list for ReadFrom, which finds its WriteTo.
func (l listing) reader() io.Reader {
	return struct {
		io.Reader // never read
		io.WriterTo
	}{WriterTo: l}
}

// WriteTo implements io.WriterTo.
func (l listing) WriteTo(w io.Writer) (int64, error) {
	if _, ok := w.(syscall.Conn); ok {
		return l.writeVectors(w)
	}
	return l.writeWhole(w)
}

// writeVectors writes to a socket.
func (l listing) writeVectors(w io.Writer) (written int64, err error) {
	vector, size := make([][]byte, 0, vectorMost), 0
	send := func() bool {
		buffers := net.Buffers(vector)
		var n int64
		if conn, ok := w.(deadliner); ok {
			n, err = persist(conn, l.stall, func() (int64, error) { return buffers.WriteTo(w) })
		} else {
			n, err = buffers.WriteTo(w)
		}
		written += n
		vector, size = vector[:0], 0
		return err == nil
	}
	for piece := range l.pieces {
		vector, size = append(vector, piece), size+len(piece)
		if (len(vector) == vectorMost || size >= vectorSize) && !send() {
			return written, err
		}
	}
	send()
	return written, err
}

// writeWhole writes to what takes one piece at a time: small ones are collected.
func (l listing) writeWhole(w io.Writer) (written int64, err error) {
	collected := payloads.Get().(*buffer)
	defer func() {
		collected.bytes = collected.bytes[:0]
		payloads.Put(collected)
	}()
	write := func(p []byte) bool {
		var n int
		n, err = w.Write(p)
		written += int64(n)
		return err == nil
	}
	for piece := range l.pieces {
		whole := len(piece) >= wholeSize
		if b := collected.bytes; len(b) > 0 && (whole || len(b)+len(piece) > spillSize) {
			if !write(b) {
				return written, err
			}
			collected.bytes = b[:0]
		}
		if !whole {
			collected.bytes = append(collected.bytes, piece...)
		} else if !write(piece) {
			return written, err
		}
	}
	write(collected.bytes)
	return written, err
}
