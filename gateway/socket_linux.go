package gateway

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"revtail/gateway/nonblocking"
)

// socket is a TCP connection without the goroutines and buffers that Go's network library has for one: reads and writes do
// what can be done now.
type socket struct{ fd int }

// newSocket takes a connection. Without an error the connection is the socket's, and conn of no more use.
func newSocket(conn net.Conn) (socket, error) {
	plain, ok := conn.(syscall.Conn)
	if !ok {
		return socket{}, errNoSocket
	}
	raw, err := plain.SyscallConn()
	if err != nil {
		return socket{}, err
	}
	fd, failed := -1, error(nil)
	if err := raw.Control(func(original uintptr) { fd, failed = unix.FcntlInt(original, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return socket{}, err
	}
	if failed != nil {
		return socket{}, os.NewSyscallError("fcntl", failed)
	}
	_ = conn.Close() // one of two descriptors: the connection stays open
	return socket{fd}, nil
}

// conn gives the connection back to Go's network library.
func (s socket) conn() (net.Conn, error) {
	file := os.NewFile(uintptr(s.fd), "")
	conn, err := net.FileConn(file) // a descriptor of its own
	_ = file.Close()
	return conn, err
}

// maxUnsent is how many bytes the system takes for a connection beyond what may travel.
const maxUnsent = 128 << 10

// boundUnsent keeps the system from holding megabytes for a client that does not read. What is on its way is not bounded, and so
// neither is the speed of a client that is far away, as it would be by SO_SNDBUF.
func boundUnsent(conn net.Conn) {
	plain, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := plain.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { // a system that cannot holds more
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, maxUnsent)
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

// boundNear keeps the system from taking megabytes at a time for a client that is near. One that is far away needs them, and has
// what the system thinks right.
func boundNear(conn syscall.Conn) {
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

// write writes as much as the system takes now.
func (s socket) write(data []byte) (int, error) { return nonblocking.Write(uintptr(s.fd), data) }

// read reads what is there now; more: the client may send more. An ended connection is an error.
func (s socket) read(into []byte) (n int, more bool, err error) {
	for {
		n, err := unix.Read(s.fd, into)
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			return 0, false, nil
		case err != nil:
			return 0, false, os.NewSyscallError("read", err)
		case n == 0:
			return 0, false, errClientGone
		default:
			return n, true, nil
		}
	}
}

func (s socket) close() { _ = unix.Close(s.fd) } // nothing is left to be done with it

// abort closes so that the client sees a broken connection, and drops what it did not take.
func (s socket) abort() {
	_ = unix.SetsockoptLinger(s.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}) // a dead one has nothing unsent
	s.close()
}

// poller tells when sockets can be written again, have been sent something, or are gone. It stands in Go's own poller, so that
// a goroutine that waits for it holds no thread.
type poller struct {
	fd   int
	file *os.File
	raw  syscall.RawConn
}

func newPoller() (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // what os.NewFile asks for before it polls
		_ = unix.Close(fd) // the error is known
		return nil, os.NewSyscallError("fcntl", err)
	}
	p := &poller{fd: fd, file: os.NewFile(uintptr(fd), "epoll")}
	if p.raw, err = p.file.SyscallConn(); err != nil {
		_ = p.file.Close() // the error is known
		return nil, err
	}
	return p, nil
}

// signal is what happened to a socket.
type signal struct {
	tag      int32 // what add was told
	fd       int32
	writable bool
	readable bool // or gone: read tells
}

// add begins to tell of a socket: of each change once.
func (p *poller) add(s socket, tag int32) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(s.fd), Pad: tag}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, s.fd, &event))
}

// remove is for a socket that is given away; one that is closed leaves by itself.
func (p *poller) remove(s socket) { _ = unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, s.fd, nil) }

// wait waits until there is something to tell. It fails when the poller has been closed.
func (p *poller) wait(into []signal) ([]signal, error) {
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
		into = append(into, signal{
			tag: e.Pad, fd: e.Fd,
			writable: e.Events&unix.EPOLLOUT != 0,
			readable: e.Events&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0,
		})
	}
	return into, nil
}

func (p *poller) close() { _ = p.file.Close() } // wait fails then
