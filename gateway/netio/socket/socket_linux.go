package socket

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Socket is a TCP connection that does not block, without the goroutines and buffers that package net has for one. One goroutine uses it.
type Socket struct{ fd int }

// New returns a Socket for a TCP connection, and closes conn. The Socket owns the connection: conn must not be used afterwards. If New
// fails, conn is unchanged. The error is ErrNotPollable if conn is not a socket of the operating system.
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
	_ = conn.Close() // the connection stays open, because the Socket has a duplicate of the descriptor
	return Socket{fd}, nil
}

// Conn returns a net.Conn for the connection, which the caller closes. The Socket is closed and must not be used afterwards, also after an
// error.
func (s Socket) Conn() (net.Conn, error) {
	file := os.NewFile(uintptr(s.fd), "")
	conn, err := net.FileConn(file) // duplicates the descriptor
	_ = file.Close()
	return conn, err
}

// notSentLowat is how many bytes the kernel buffers for a connection beyond the bytes that it may send now.
const notSentLowat = 128 << 10

// LimitUnsent prevents the kernel from buffering megabytes for a client that does not read. Unlike SO_SNDBUF, it does not limit the bytes
// in flight and therefore not the speed of a distant client. It does nothing if conn is not a socket of the operating system.
func LimitUnsent(conn net.Conn) {
	plain, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := plain.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { // without the option the kernel buffers more
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, notSentLowat)
		})
	}
}

const (
	// nearBuffer is the size, in bytes, of the send buffer for a near client. Bytes that are written to such a buffer and that the client
	// reads from it stay in the processors' caches, unlike megabytes; lists then need half the processor time.
	nearBuffer = 384 << 10
	// nearTime is the largest round-trip time of a near client. nearBuffer does not limit the speed of such a client: 384 KiB per
	// millisecond are 3 Gbit/s.
	nearTime = time.Millisecond
)

// LimitSendBuffer prevents the kernel from accepting megabytes at once for a near client. The send buffer of a distant client keeps the
// size that the kernel chooses, because such a client needs megabytes.
func LimitSendBuffer(conn syscall.Conn) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { // without the option the kernel accepts more
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil && time.Duration(info.Min_rtt)*time.Microsecond <= nearTime {
			_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, nearBuffer)
		}
	})
}

// Write writes as many bytes as the kernel accepts now and returns their number. A partial write is not an error.
func (s Socket) Write(data []byte) (int, error) { return Write(uintptr(s.fd), data) }

// Read reads the bytes that have arrived. more reports whether there may be more now; n is 0 and more is false if there are none. Read
// fails with ErrPeerGone after the client has closed.
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

// Close closes the connection. The kernel still sends the bytes that it has accepted.
func (s Socket) Close() { _ = unix.Close(s.fd) } // the socket is not used again

// Abort resets the connection and discards its unsent bytes. The client gets a broken connection.
func (s Socket) Abort() {
	_ = unix.SetsockoptLinger(s.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}) // a broken connection has no unsent bytes
	s.Close()
}

// Poller reports when sockets become writable or readable, or are closed. It is registered with Go's own poller, because then a goroutine
// in Wait does not block a thread.
type Poller struct {
	fd   int
	file *os.File
	raw  syscall.RawConn
}

// NewPoller returns a Poller with an epoll instance of its own. The caller closes it.
func NewPoller() (*Poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // os.NewFile registers only non-blocking descriptors with Go's poller
		_ = unix.Close(fd) // the first error is returned
		return nil, os.NewSyscallError("fcntl", err)
	}
	p := &Poller{fd: fd, file: os.NewFile(uintptr(fd), "epoll")}
	if p.raw, err = p.file.SyscallConn(); err != nil {
		_ = p.file.Close() // the first error is returned
		return nil, err
	}
	return p, nil
}

// Event is a change of the state of a socket.
type Event struct {
	Tag      int32 // as passed to Add
	FD       int32
	Writable bool
	Readable bool // or closed: Read returns the error
}

// Add registers a socket. Wait reports each change once (edge-triggered), with the tag.
func (p *Poller) Add(s Socket, tag int32) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(s.fd), Pad: tag}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, s.fd, &event))
}

// Remove unregisters a socket. Closing a socket unregisters it too.
func (p *Poller) Remove(s Socket) { _ = unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, s.fd, nil) }

// Wait blocks until there are events. It returns at most cap(into) events, in the memory of into. It fails after Close.
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

// Close closes the poller, and makes Wait fail. The sockets stay open.
func (p *Poller) Close() { _ = p.file.Close() }
