package response

import (
	"io"
	"net"
	"sync"
	"time"

	"revtail/gateway/netio/socket"
)

// maxPieces is how many pieces one write has, whatever their size, because the connection keeps 16 bytes for each afterwards.
const maxPieces = 256

// writev writes many pieces to a socket in one system call. It is used for one response.
type writev struct {
	to      io.Writer
	stall   time.Duration // timeout of a write, within which the client must read something
	pieces  [][]byte      // not written yet
	left    net.Buffers   // of the current write
	written int64
	err     error // of the connection; later pieces are dropped
}

var writevs = sync.Pool{New: func() any { return &writev{pieces: make([][]byte, 0, maxPieces)} }}

func newWritev(to io.Writer, stall time.Duration) *writev {
	v := writevs.Get().(*writev)
	v.to, v.stall = to, stall
	return v
}

// add adds a piece, which the caller does not modify until end. False: the connection is broken.
func (v *writev) add(piece []byte) bool {
	v.pieces = append(v.pieces, piece)
	return len(v.pieces) < maxPieces || v.send()
}

// end writes the rest, and returns v to the pool.
func (v *writev) end() (written int64, err error) {
	v.send()
	written, err = v.written, v.err
	clear(v.pieces[:cap(v.pieces)]) // do not keep documents of the cache alive
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

// write writes v.left.
func (v *writev) write() {
	var n int64
	if conn, ok := v.to.(socket.WriteDeadliner); ok {
		n, v.err = socket.WriteAll(conn, v.stall, func() (int64, error) { return v.left.WriteTo(v.to) })
	} else {
		n, v.err = v.left.WriteTo(v.to)
	}
	v.written += n
}
