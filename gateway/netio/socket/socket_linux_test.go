package socket

import (
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNearClientsAreGivenLittleAtATime checks that the send buffer of a client on the same machine is small enough for a processor cache.
func TestNearClientsAreGivenLittleAtATime(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	LimitSendBuffer(conn.(syscall.Conn))
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var size int
	if failed := raw.Control(func(fd uintptr) { size, err = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF) }); failed != nil || err != nil {
		t.Fatal(failed, err)
	}
	if most := 2 * nearBuffer; size > most { // the kernel doubles the requested size, and may limit it
		t.Errorf("it takes %d bytes, want %d at most", size, most)
	}
	if size < nearBuffer/2 {
		t.Errorf("it takes %d bytes: it was not asked", size)
	}
}
