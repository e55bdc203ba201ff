//go:build unix

package socket

import (
	"os"

	"golang.org/x/sys/unix"
)

// Write writes to the non-blocking socket fd as many bytes as the kernel accepts now, and returns their number. A partial write is not an
// error. On platforms without such writes it returns 0.
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
