//go:build unix

package socket

import (
	"os"

	"golang.org/x/sys/unix"
)

// Write writes as much to a socket that does not block as the system takes now: less than all is no error, and zero where the
// platform cannot say.
func Write(fd uintptr, data []byte) (written int, err error) {
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
