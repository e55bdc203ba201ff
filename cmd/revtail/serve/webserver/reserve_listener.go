package webserver

import (
	"net"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// descriptorReserve is how many descriptors connections of clients leave free: for the files of the embedded etcd, for connections to another
// one, and for files that are read again. A process with few leaves half of them.
const descriptorReserve = 128

// acceptPause is the time after a connection that is closed for lack of descriptors. It bounds the cost of clients that try again at once.
const acceptPause = time.Millisecond

// reserveListener resets connections for which the process has too few descriptors. Otherwise etcd could not open its next file, and ends.
type reserveListener struct {
	net.Listener
	maximum uintptr // descriptors of connections are less
	refused prometheus.Counter
}

// keepReserve returns a listener that leaves descriptors free for the rest of the process.
func keepReserve(l net.Listener, refused prometheus.Counter) net.Listener {
	limit := descriptorLimit()
	if limit == 0 {
		return l
	}
	return &reserveListener{l, uintptr(limit - min(descriptorReserve, limit/2)), refused}
}

// Accept implements net.Listener. The system gives each file the smallest number that is free, so that the number of a connection says how
// many files are open at least.
func (l *reserveListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil || l.fits(conn) {
			return conn, err
		}
		l.refused.Inc()
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // Close follows in any case
		}
		_ = conn.Close()
		<-time.After(acceptPause)
	}
}

func (l *reserveListener) fits(conn net.Conn) bool {
	system, ok := conn.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := system.SyscallConn()
	if err != nil {
		return true // it is closed, as its first read says
	}
	fits := true
	_ = raw.Control(func(descriptor uintptr) { fits = descriptor < l.maximum })
	return fits
}
