package webserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// unixScheme begins the address of a unix socket.
const unixScheme = "unix://"

// socketMode lets only the user of this process connect to a socket, because connecting needs the permission to write.
const socketMode = 0o600

// listenUnix makes a socket and listens on it. It replaces the socket of a process that has ended. Close removes the socket.
func listenUnix(ctx context.Context, path string) (net.Listener, error) {
	if err := removeStale(ctx, path); err != nil {
		return nil, err
	}
	private := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error { return restrict(c) }}
	l, err := private.Listen(ctx, "unix", path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no directory %s: create it, or choose another path", filepath.Dir(path))
	case errors.Is(err, syscall.EINVAL):
		return nil, fmt.Errorf("the path of a socket cannot have %d bytes: choose a shorter one (%w)", len(path), err)
	case err != nil:
		return nil, fmt.Errorf("%w: choose another path", err)
	}
	if err := os.Chmod(path, socketMode); err != nil { // the umask may have removed even the owner's permissions
		_ = l.Close()
		return nil, err
	}
	return unixListener{l}, nil
}

// removeStale removes the socket of a process that has ended, and returns an error if anything else is at the path.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%w: choose another path", err)
	case info.Mode().Type() != fs.ModeSocket:
		return errors.New("this file is not a socket: remove it, or choose another path")
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		_ = conn.Close()
		return errors.New("another process listens there: stop it, or choose another path")
	case !errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("another process may listen there (%w): stop it, or choose another path", err)
	}
	return os.Remove(path)
}

// unixListener names the clients of a socket, whose own addresses are empty.
type unixListener struct{ net.Listener }

// Accept implements net.Listener.
func (l unixListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if unix, ok := conn.(*net.UnixConn); ok {
		return unixConn{unix}, err
	}
	return conn, err
}

// unixConn is a connection through a socket. It embeds the connection, so that it can be polled.
type unixConn struct{ *net.UnixConn }

// RemoteAddr implements net.Conn. All clients of sockets have one address, for logs and limits, because they are programs of one user.
func (unixConn) RemoteAddr() net.Addr { return &net.UnixAddr{Name: "unix", Net: "unix"} }
