//go:build !linux

package socket

import (
	"net"
	"syscall"
)

// On platforms other than Linux NewPoller fails, and each watch has a goroutine. Nothing else in this file is called there, except the
// functions that limit buffers.

// Socket has no values on this platform, because New fails.
type Socket struct{ fd int }

// New returns ErrNotPollable.
func New(net.Conn) (Socket, error)            { return Socket{}, ErrNotPollable }
func (Socket) Conn() (net.Conn, error)        { return nil, ErrNotPollable }
func (Socket) Write([]byte) (int, error)      { return 0, ErrNotPollable }
func (Socket) Read([]byte) (int, bool, error) { return 0, false, ErrNotPollable }
func (Socket) Close()                         {}
func (Socket) Abort()                         {}

// LimitUnsent does nothing on this platform.
func LimitUnsent(net.Conn) {}

// LimitSendBuffer does nothing on this platform.
func LimitSendBuffer(syscall.Conn) {}

// Poller has no values on this platform, because NewPoller fails.
type Poller struct{}

// Event is never reported on this platform.
type Event struct {
	Tag, FD            int32
	Writable, Readable bool
}

// NewPoller returns ErrNotPollable.
func NewPoller() (*Poller, error)             { return nil, ErrNotPollable }
func (*Poller) Add(Socket, int32) error       { return ErrNotPollable }
func (*Poller) Remove(Socket)                 {}
func (*Poller) Wait([]Event) ([]Event, error) { return nil, ErrNotPollable }
func (*Poller) Close()                        {}
