package socket

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// WriteTimeout is how long a client may take nothing of what is written to it. Until then it is late, at the cost of no other client;
// afterwards its connection or stream is cut.
const WriteTimeout = 30 * time.Second

// DeadlineConn is a connection whose writes fail with ErrStalled when the client takes nothing for as long as Limit.
type DeadlineConn struct {
	net.Conn
	Limit time.Duration
}

// Write implements net.Conn.
func (c DeadlineConn) Write(p []byte) (int, error) {
	written, taken := 0, time.Now()
	for {
		if err := c.SetWriteDeadline(time.Now().Add(c.step())); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(c.piece(p[written:]))
		written += n
		if n > 0 {
			taken = time.Now()
		}
		switch {
		case err == nil && written < len(p):
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return written, err
		case c.secured() || time.Since(taken) >= c.Limit:
			return written, fmt.Errorf("%w: %w", ErrStalled, err)
		}
	}
}

// secured tells whether the connection is of no use after a deadline has passed, however much was written before.
func (c DeadlineConn) secured() bool {
	_, secured := c.Conn.(*tls.Conn)
	return secured
}

func (c DeadlineConn) step() time.Duration {
	if c.secured() {
		return c.Limit
	}
	return c.Limit / stallSteps
}

// piece is how much is written with one deadline.
func (c DeadlineConn) piece(p []byte) []byte {
	if c.secured() {
		return p[:min(len(p), tlsPiece)]
	}
	return p
}

// NetConn is the connection below, as crypto/tls calls it.
func (c DeadlineConn) NetConn() net.Conn { return c.Conn }

// ErrStalled is the error of a write whose client takes nothing.
var ErrStalled = errors.New("the client takes nothing")

// stallSteps is how many deadlines make up the limit: at each of them a write tells whether the client has taken something since the last.
const stallSteps = 30

// tlsPiece is some records of TLS.
const tlsPiece = 64 << 10

// WriteAll writes until nothing is left, or until the client takes nothing for as long as limit.
func WriteAll(conn WriteDeadliner, limit time.Duration, what PartialWriter) (written int64, err error) {
	for taken := time.Now(); ; {
		if err := conn.SetWriteDeadline(time.Now().Add(limit / stallSteps)); err != nil {
			return written, err
		}
		n, err := what.WritePart()
		if written += n; n > 0 {
			taken = time.Now()
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(taken) >= limit {
			return written, err
		}
	}
}

// WriteDeadliner is a connection with a deadline for writes.
type WriteDeadliner interface{ SetWriteDeadline(t time.Time) error }

// PartialWriter writes as much of the rest as it can before the deadline.
type PartialWriter interface{ WritePart() (int64, error) }
