//go:build unix && !solaris && !aix

package dbfile

import (
	"errors"
	"os"
	"syscall"
)

// lock returns ErrInUse if an etcd has locked the file. It takes a shared lock, so that no etcd starts with the file while it is read.
func lock(f *os.File) error {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrInUse
	}
	return nil // a file system without locks has no etcd either
}
