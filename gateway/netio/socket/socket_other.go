//go:build !linux

package socket

import (
	"net"
	"syscall"
)

// Elsewhere every watch has a goroutine: NewPoller fails, and nothing else of this file is called.

// Socket is never made.
type Socket struct{ fd int }

// New fails.
func New(net.Conn) (Socket, error)            { return Socket{}, ErrNotPollable }
func (Socket) Conn() (net.Conn, error)        { return nil, ErrNotPollable }
func (Socket) Write([]byte) (int, error)      { return 0, ErrNotPollable }
func (Socket) Read([]byte) (int, bool, error) { return 0, false, ErrNotPollable }
func (Socket) Close()                         {}
func (Socket) Abort()                         {}

// LimitUnsent does nothing.
func LimitUnsent(net.Conn) {}

// LimitSendBuffer does nothing.
func LimitSendBuffer(syscall.Conn) {}

// Poller is never made.
type Poller struct{}

// Event never happens.
type Event struct {
	Tag, FD            int32
	Writable, Readable bool
}

// NewPoller fails.
func NewPoller() (*Poller, error)             { return nil, ErrNotPollable }
func (*Poller) Add(Socket, int32) error       { return ErrNotPollable }
func (*Poller) Remove(Socket)                 {}
func (*Poller) Wait([]Event) ([]Event, error) { return nil, ErrNotPollable }
func (*Poller) Close()                        {}
