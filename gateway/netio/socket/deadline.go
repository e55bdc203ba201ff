package socket

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// WriteTimeout is how long a client may accept no bytes that are written to it. A slow client delays no other client. After WriteTimeout
// its connection or stream is closed.
const WriteTimeout = 30 * time.Second

const (
	// stallSteps is the number of deadlines in one time limit. At each deadline the writer checks whether the client has accepted bytes
	// since the last one.
	stallSteps = 30
	// tlsPiece is how many bytes are written to TLS under one deadline: some records.
	tlsPiece = 64 << 10
)

// ErrStalled is the error of a write whose client accepts no bytes for the time limit.
var ErrStalled = errors.New("the client takes nothing")

func stalled(err error) error { return fmt.Errorf("%w: %w", ErrStalled, err) }

// DeadlineConn is a connection whose writes block until all bytes are written, and fail with ErrStalled when the client accepts no bytes
// for Limit. Writes set the write deadline of Conn.
type DeadlineConn struct {
	net.Conn
	Limit time.Duration
}

// NetConn returns the wrapped connection, like tls.Conn.NetConn.
func (c DeadlineConn) NetConn() net.Conn { return c.Conn }

// Write implements net.Conn. After ErrStalled a TLS connection cannot be written again.
func (c DeadlineConn) Write(p []byte) (int, error) {
	if _, secure := c.Conn.(*tls.Conn); secure {
		return c.writeTLS(p)
	}
	rest := p
	written, err := WriteAll(c.Conn, c.Limit, func() (int64, error) {
		n, err := c.Conn.Write(rest)
		rest = rest[n:]
		return int64(n), err
	})
	return int(written), err
}

// writeTLS writes pieces under a deadline of the whole limit each, because TLS cannot write again after a deadline has passed.
func (c DeadlineConn) writeTLS(p []byte) (written int, err error) {
	for err == nil && written < len(p) {
		if err := c.SetWriteDeadline(time.Now().Add(c.Limit)); err != nil {
			return written, err
		}
		var n int
		n, err = c.Conn.Write(p[written:min(len(p), written+tlsPiece)])
		written += n
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = stalled(err)
	}
	return written, err
}

// WriteDeadliner is a connection, or a response, with a deadline for writes.
type WriteDeadliner interface{ SetWriteDeadline(t time.Time) error }

// WriteAll calls write until it returns without a timeout, and returns the number of bytes that all calls have written. write writes as
// many of the remaining bytes as it can before the deadline of conn, which WriteAll sets before each call. WriteAll fails with ErrStalled
// when the client accepts no bytes for limit, and with any other error of write.
func WriteAll(conn WriteDeadliner, limit time.Duration, write func() (int64, error)) (written int64, err error) {
	for taken := time.Now(); ; {
		if err := conn.SetWriteDeadline(time.Now().Add(limit / stallSteps)); err != nil {
			return written, err
		}
		n, err := write()
		if written += n; n > 0 {
			taken = time.Now()
		}
		switch {
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return written, err
		case time.Since(taken) >= limit:
			return written, stalled(err)
		}
	}
}
