package socket

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// WriteTimeout is how long a client may take nothing of what is written to it. Until then it delays no other client; then its connection
// or stream is cut.
const WriteTimeout = 30 * time.Second

const (
	// stallSteps is how many deadlines make up a time limit: at each of them the writer checks whether the client has taken something
	// since the last one.
	stallSteps = 30
	// tlsPiece is how much is written to TLS with one deadline: some records.
	tlsPiece = 64 << 10
)

// ErrStalled is the error of a write whose client takes nothing.
var ErrStalled = errors.New("the client takes nothing")

func stalled(err error) error { return fmt.Errorf("%w: %w", ErrStalled, err) }

// DeadlineConn is a connection whose writes fail with ErrStalled when the client takes nothing for as long as Limit.
type DeadlineConn struct {
	net.Conn
	Limit time.Duration
}

// NetConn is the connection below, as crypto/tls calls it.
func (c DeadlineConn) NetConn() net.Conn { return c.Conn }

// Write implements net.Conn.
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

// writeTLS writes pieces with the whole limit each, because a TLS connection is of no use after a deadline has passed.
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

// WriteDeadliner is a connection with a deadline for writes.
type WriteDeadliner interface{ SetWriteDeadline(t time.Time) error }

// WriteAll calls write, which writes as much of the rest as it can before the deadline of conn, until nothing is left. It fails with ErrStalled when the client takes nothing for as long as limit.
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
