package socket

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Socket is a TCP connection without the goroutines and buffers that Go's network library has for one: reads and writes do
// what can be done now.
type Socket struct{ fd int }

// New makes a Socket of a connection. The Socket owns it: conn must not be used afterwards, unless New fails.
func New(conn net.Conn) (Socket, error) {
	plain, ok := conn.(syscall.Conn)
	if !ok {
		return Socket{}, ErrNotPollable
	}
	raw, err := plain.SyscallConn()
	if err != nil {
		return Socket{}, err
	}
	fd, failed := -1, error(nil)
	if err := raw.Control(func(original uintptr) { fd, failed = unix.FcntlInt(original, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return Socket{}, err
	}
	if failed != nil {
		return Socket{}, os.NewSyscallError("fcntl", failed)
	}
	_ = conn.Close() // one of two descriptors: the connection stays open
	return Socket{fd}, nil
}

// Conn makes a net.Conn of the socket, which must not be used afterwards.
func (s Socket) Conn() (net.Conn, error) {
	file := os.NewFile(uintptr(s.fd), "")
	conn, err := net.FileConn(file) // a descriptor of its own
	_ = file.Close()
	return conn, err
}

// notSentLowat is how many bytes the system buffers for a connection beyond what it may send now.
const notSentLowat = 128 << 10

// LimitUnsent keeps the system from buffering megabytes for a client that does not read. Unlike SO_SNDBUF it does not limit the bytes in
// flight, and so not the speed of a client that is far away.
func LimitUnsent(conn net.Conn) {
	plain, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := plain.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { // a system that cannot holds more
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, notSentLowat)
		})
	}
}

const (
	// nearBuffer is how much the system takes for a client that is near: what is written to it and what it reads then stay in the
	// processors' caches, which megabytes do not, and lists take half the processor time.
	nearBuffer = 384 << 10
	// nearTime is how long it may take there and back for that to be no limit: 384 KiB in a millisecond are 3 Gbit/s.
	nearTime = time.Millisecond
)

// LimitSendBuffer keeps the system from taking megabytes at a time for a client that is near. One that is far away needs them, and has
// what the system thinks right.
func LimitSendBuffer(conn syscall.Conn) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { // a system that cannot takes more
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil && time.Duration(info.Min_rtt)*time.Microsecond <= nearTime {
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, nearBuffer)
		}
	})
}

// Write writes as much as the system takes now.
func (s Socket) Write(data []byte) (int, error) { return Write(uintptr(s.fd), data) }

// Read reads what is there now; more: the client may send more. An ended connection is an error.
func (s Socket) Read(into []byte) (n int, more bool, err error) {
	for {
		n, err := unix.Read(s.fd, into)
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			return 0, false, nil
		case err != nil:
			return 0, false, os.NewSyscallError("read", err)
		case n == 0:
			return 0, false, ErrPeerGone
		default:
			return n, true, nil
		}
	}
}

// Close closes the connection.
func (s Socket) Close() { _ = unix.Close(s.fd) } // nothing is left to be done with it

// Abort closes so that the client sees a broken connection, and drops what it did not take.
func (s Socket) Abort() {
	_ = unix.SetsockoptLinger(s.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}) // a dead one has nothing unsent
	s.Close()
}

// Poller reports when sockets become writable or readable, or are closed. It is registered in Go's own poller, so that a goroutine in
// Wait blocks no thread.
type Poller struct {
	fd   int
	file *os.File
	raw  syscall.RawConn
}

// NewPoller opens an epoll instance.
func NewPoller() (*Poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // what os.NewFile asks for before it polls
		_ = unix.Close(fd) // the error is known
		return nil, os.NewSyscallError("fcntl", err)
	}
	p := &Poller{fd: fd, file: os.NewFile(uintptr(fd), "epoll")}
	if p.raw, err = p.file.SyscallConn(); err != nil {
		_ = p.file.Close() // the error is known
		return nil, err
	}
	return p, nil
}

// Event is what happened to a socket.
type Event struct {
	Tag      int32 // as given to Add
	FD       int32
	Writable bool
	Readable bool // or closed: Read returns the error
}

// Add registers a socket (edge-triggered): each change is reported once.
func (p *Poller) Add(s Socket, tag int32) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(s.fd), Pad: tag}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, s.fd, &event))
}

// Remove unregisters a socket. Closing a socket unregisters it too.
func (p *Poller) Remove(s Socket) { _ = unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, s.fd, nil) }

// Wait waits for events. It fails when the poller has been closed.
func (p *Poller) Wait(into []Event) ([]Event, error) {
	events := make([]unix.EpollEvent, cap(into))
	n, failed := 0, error(nil)
	err := p.raw.Read(func(uintptr) bool {
		n, failed = unix.EpollWait(p.fd, events, 0)
		return n > 0 || failed != nil && !errors.Is(failed, unix.EINTR)
	})
	if err == nil && failed != nil {
		err = os.NewSyscallError("epoll_wait", failed)
	}
	if err != nil {
		return nil, err
	}
	into = into[:0]
	for _, e := range events[:n] {
		into = append(into, Event{
			Tag: e.Pad, FD: e.Fd,
			Writable: e.Events&unix.EPOLLOUT != 0,
			Readable: e.Events&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0,
		})
	}
	return into, nil
}

// Close closes the poller: Wait fails from then on.
func (p *Poller) Close() { _ = p.file.Close() }
