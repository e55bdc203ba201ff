//go:build unix

package http2

import (
	"os"

	"golang.org/x/sys/unix"
)

// pushTo writes as much as the system takes now.
func pushTo(fd uintptr, data []byte) (written int, err error) {
	for written < len(data) {
		n, err := unix.Write(int(fd), data[written:])
		switch err {
		case nil:
			written += n
		case unix.EINTR:
		case unix.EAGAIN:
			return written, nil
		default:
			return written, os.NewSyscallError("write", err)
		}
	}
	return written, nil
}
