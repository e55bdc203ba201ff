package socket

import (
	"errors"
	"net"
	"syscall"
)

// ErrNotPollable is the error for a connection that is no socket of the system, and on platforms without a [Poller].
var ErrNotPollable = errors.New("not a socket that can be polled")

// Pollable reports whether the connection is a socket of the system.
func Pollable(conn net.Conn) bool {
	_, ok := conn.(syscall.Conn)
	return ok
}

// ErrPeerGone is the cause by which a stream's context ends when its client has left.
var ErrPeerGone = errors.New("the client went away")

// Base unwraps a connection down to the lowest one.
func Base(conn net.Conn) net.Conn {
	for {
		upper, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return conn
		}
		conn = upper.NetConn()
	}
}

// ResetOnClose makes Close reset the connection, because what a client did not take in time must not stay in the system's memory.
func ResetOnClose(conn net.Conn) {
	if tcp, ok := Base(conn).(interface{ SetLinger(seconds int) error }); ok {
		_ = tcp.SetLinger(0) // a connection that is gone already has nothing unsent
	}
}

// Abort closes the lowest connection, whose user gets an error. TLS is left out because it would write a close_notify first, and wait.
func Abort(conn net.Conn) {
	ResetOnClose(conn)
	_ = Base(conn).Close() // the error changes nothing
}
