package gateway

import (
	"io"
	"net"
	"sync"
	"time"

	"revtail/gateway/netio/socket"
)

// vectorMost is how many pieces go into one write, however many bytes they are: the kernel takes what it has room for, and a
// connection that was written to so keeps 16 bytes for each.
const vectorMost = 256

// vector writes pieces to a socket, many in one write. It is used for one answer.
type vector struct {
	to      io.Writer
	stall   time.Duration // how long the client may take nothing
	pieces  [][]byte      // that wait for a write
	left    net.Buffers   // of a write that is under way
	written int64
	err     error // of the connection; nothing is written afterwards
}

var vectors = sync.Pool{New: func() any { return &vector{pieces: make([][]byte, 0, vectorMost)} }}

func newVector(to io.Writer, stall time.Duration) *vector {
	v := vectors.Get().(*vector)
	v.to, v.stall = to, stall
	return v
}

// add takes a piece, which is not to change until end. False: the connection is broken.
func (v *vector) add(piece []byte) bool {
	v.pieces = append(v.pieces, piece)
	return len(v.pieces) < vectorMost || v.send()
}

// end writes what is left, and ends the use of the vector.
func (v *vector) end() (written int64, err error) {
	v.send()
	written, err = v.written, v.err
	clear(v.pieces[:cap(v.pieces)]) // the cache must not be held for the next answer
	*v = vector{pieces: v.pieces[:0]}
	vectors.Put(v)
	return written, err
}

func (v *vector) send() bool {
	if v.err == nil && len(v.pieces) > 0 {
		v.left = v.pieces
		v.write()
		v.pieces = v.pieces[:0]
	}
	return v.err == nil
}

// write writes all that is left.
func (v *vector) write() {
	var n int64
	if conn, ok := v.to.(socket.WriteDeadliner); ok {
		n, v.err = socket.WriteAll(conn, v.stall, v)
	} else {
		n, v.err = v.left.WriteTo(v.to)
	}
	v.written += n
}

// WritePart implements socket.PartialWriter.
func (v *vector) WritePart() (int64, error) { return v.left.WriteTo(v.to) }
