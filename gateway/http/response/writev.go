package response

import (
	"io"
	"net"
	"sync"
	"time"

	"revtail/gateway/netio/socket"
)

// maxPieces is how many pieces go into one write, however many bytes they are: the kernel takes what it has room for, and a
// connection that was written to so keeps 16 bytes for each.
const maxPieces = 256

// writev writes pieces to a socket, many in one write. It is used for one answer.
type writev struct {
	to      io.Writer
	stall   time.Duration // how long the client may take nothing
	pieces  [][]byte      // that wait for a write
	left    net.Buffers   // of a write that is under way
	written int64
	err     error // of the connection; nothing is written afterwards
}

var writevs = sync.Pool{New: func() any { return &writev{pieces: make([][]byte, 0, maxPieces)} }}

func newWritev(to io.Writer, stall time.Duration) *writev {
	v := writevs.Get().(*writev)
	v.to, v.stall = to, stall
	return v
}

// add takes a piece, which is not to change until end. False: the connection is broken.
func (v *writev) add(piece []byte) bool {
	v.pieces = append(v.pieces, piece)
	return len(v.pieces) < maxPieces || v.send()
}

// end writes what is left, and ends the use of the vector.
func (v *writev) end() (written int64, err error) {
	v.send()
	written, err = v.written, v.err
	clear(v.pieces[:cap(v.pieces)]) // the cache must not be held for the next answer
	*v = writev{pieces: v.pieces[:0]}
	writevs.Put(v)
	return written, err
}

func (v *writev) send() bool {
	if v.err == nil && len(v.pieces) > 0 {
		v.left = v.pieces
		v.write()
		v.pieces = v.pieces[:0]
	}
	return v.err == nil
}

// write writes all that is left.
func (v *writev) write() {
	var n int64
	if conn, ok := v.to.(socket.WriteDeadliner); ok {
		n, v.err = socket.WriteAll(conn, v.stall, func() (int64, error) { return v.left.WriteTo(v.to) })
	} else {
		n, v.err = v.left.WriteTo(v.to)
	}
	v.written += n
}
