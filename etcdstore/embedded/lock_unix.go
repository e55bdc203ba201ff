//go:build !noembedded && unix && !solaris && !aix

package embedded

import (
	"errors"
	"os"
	"syscall"
)

// lockDir takes an exclusive lock on the directory itself, which leaves no lock file. The kernel releases it when the process ends.
func lockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrDataDirInUse
	}
	_ = f.Close()
	return nil, err
}
