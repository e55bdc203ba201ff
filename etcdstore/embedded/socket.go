package embedded

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
)

// SocketURL returns the URL of the socket of a member without a client URL: client/etcd.sock in its data directory. Only the user of the
// process may open it.
func SocketURL(dataDir string) (string, error) {
	u, err := socketURL(dataDir)
	if err != nil {
		return "", err
	}
	return endpointOf(*u), nil
}

func socketURL(dataDir string) (*url.URL, error) {
	dir, err := filepath.Abs(dataDir)
	if err != nil {
		return nil, err
	}
	return &url.URL{Scheme: "unix", Path: filepath.ToSlash(filepath.Join(dir, "client", "etcd.sock"))}, nil
}

// endpointOf returns a URL as the client of etcd reads it: the path of a socket is not escaped.
func endpointOf(u url.URL) string {
	if u.Scheme == "unix" {
		return "unix://" + u.Host + u.Path
	}
	return u.String()
}

// claimSocket removes the socket of an earlier process, which has ended because this one has locked the data directory. If the member is to
// have a socket, claimSocket makes a private folder for it, because etcd makes the socket with the permissions that the umask leaves, and
// checks that a socket can be made there. Errors are *AddressError.
func claimSocket(dataDir string, wanted bool) error {
	u, err := socketURL(dataDir)
	if err != nil {
		return newAddressError(dataDir, err)
	}
	if err := os.Remove(u.Path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return newAddressError(u.Path, err)
	}
	if !wanted {
		return nil
	}
	folder := filepath.Dir(u.Path)
	if err := errors.Join(os.MkdirAll(folder, 0o700), os.Chmod(folder, 0o700)); err != nil { //nolint:gosec // a folder needs the permission to search it
		return newAddressError(u.Path, err)
	}
	l, err := net.Listen("unix", u.Path)
	if errors.Is(err, syscall.EINVAL) {
		err = fmt.Errorf("the path of a socket cannot have %d bytes (%w)", len(u.Path), err)
	}
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		return newAddressError(u.Path, err)
	}
	return nil
}
