//go:build unix

package socket_test

import (
	"bytes"
	"errors"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"revtail/gateway/netio/socket"
)

// pair returns the two ends of a non-blocking socket.
func pair(t *testing.T) (ours, theirs int) {
	t.Helper()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range ends {
		if err := unix.SetNonblock(end, true); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = unix.Close(ends[0]) })
	return ends[0], ends[1]
}

// TestWrite checks that Write writes only the bytes that fit, that they arrive, and that there is room again after they are read.
func TestWrite(t *testing.T) {
	ours, theirs := pair(t)
	defer func() { _ = unix.Close(theirs) }()
	data := bytes.Repeat([]byte("0123456789"), 1<<20)
	var read []byte
	for rest, scrap := data, make([]byte, 1<<20); len(read) < len(data); {
		n, err := socket.Write(uintptr(ours), rest)
		if err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
		if n, err = unix.Read(theirs, scrap); err != nil {
			t.Fatal(err)
		}
		read = append(read, scrap[:n]...)
	}
	if !bytes.Equal(read, data) {
		t.Error("other bytes arrived than were written")
	}
}

// TestWriteToClosedConnection checks that Write returns the system's error when the other end is closed.
func TestWriteToClosedConnection(t *testing.T) {
	ours, theirs := pair(t)
	if err := unix.Close(theirs); err != nil {
		t.Fatal(err)
	}
	n, err := socket.Write(uintptr(ours), []byte("news"))
	var system *os.SyscallError
	if n != 0 || !errors.Is(err, syscall.EPIPE) || !errors.As(err, &system) {
		t.Errorf("%d bytes, %v, want none and a broken pipe", n, err)
	}
}
