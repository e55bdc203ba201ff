package webserver

import (
	"errors"
	"syscall"
)

// restrict gives a socket its mode before it is bound to a path, so that the path never has another mode.
func restrict(c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) { failed = syscall.Fchmod(int(fd), socketMode) })
	return errors.Join(err, failed)
}
