//go:build !linux

package gateway

import (
	"net"
	"syscall"
)

// Elsewhere every watch has a goroutine: newPoller fails, and nothing else of this file is called.

type socket struct{ fd int }

func newSocket(net.Conn) (socket, error)      { return socket{}, errNoSocket }
func (socket) conn() (net.Conn, error)        { return nil, errNoSocket }
func (socket) write([]byte) (int, error)      { return 0, errNoSocket }
func (socket) read([]byte) (int, bool, error) { return 0, false, errNoSocket }
func (socket) close()                         {}
func (socket) abort()                         {}

func boundUnsent(net.Conn) {}

func boundNear(syscall.Conn) {}

type poller struct{}

type signal struct {
	tag, fd            int32
	writable, readable bool
}

func newPoller() (*poller, error)               { return nil, errNoSocket }
func (*poller) add(socket, int32) error         { return errNoSocket }
func (*poller) remove(socket)                   {}
func (*poller) wait([]signal) ([]signal, error) { return nil, errNoSocket }
func (*poller) close()                          {}
