package socket

import (
	"errors"
	"net"
	"syscall"
)

// ErrNotPollable is the error for a connection that is not a socket of the operating system, and the error of platforms without a [Poller].
var ErrNotPollable = errors.New("not a socket that can be polled")

// Pollable reports whether conn is a socket of the operating system.
func Pollable(conn net.Conn) bool {
	_, ok := conn.(syscall.Conn)
	return ok
}

// ErrPeerGone is the cause with which a stream's context ends when its client has disconnected. Socket.Read returns it too.
var ErrPeerGone = errors.New("the client went away")

// Base unwraps conn by its NetConn methods, and returns the lowest connection.
func Base(conn net.Conn) net.Conn {
	for {
		upper, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return conn
		}
		conn = upper.NetConn()
	}
}

// ResetOnClose makes Close reset the connection, because bytes that a client did not accept in time must not stay in the kernel's memory.
// It does nothing if the lowest connection is not a TCP connection.
func ResetOnClose(conn net.Conn) {
	if tcp, ok := Base(conn).(interface{ SetLinger(seconds int) error }); ok {
		_ = tcp.SetLinger(0) // a broken connection has no unsent bytes
	}
}

// Abort resets and closes the lowest connection, whose pending reads and writes fail. It does not close TLS, because TLS would write a
// close_notify first, and wait.
func Abort(conn net.Conn) {
	ResetOnClose(conn)
	_ = Base(conn).Close() // the error changes nothing
}
