package webserver

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestSocketIsNeverOpenToOthers checks that the mode of a socket does not depend on the umask, and that bind itself sets it: a mode that was
// set later would leave others a moment to connect.
func TestSocketIsNeverOpenToOthers(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	for name, listen := range map[string]func(path string) (net.Listener, error){
		"bind": func(path string) (net.Listener, error) {
			private := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error { return restrict(c) }}
			return private.Listen(t.Context(), "unix", path)
		},
		"listenUnix":                     func(path string) (net.Listener, error) { return listenUnix(t.Context(), path) },
		"listenUnix with a strict umask": func(path string) (net.Listener, error) { syscall.Umask(0o777); return listenUnix(t.Context(), path) },
	} {
		syscall.Umask(0)
		path := filepath.Join(t.TempDir(), "socket")
		l, err := listen(path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		info, err := os.Lstat(path)
		if err != nil || info.Mode() != fs.ModeSocket|socketMode {
			t.Errorf("%s: mode %v, %v; want %v", name, info.Mode(), err, fs.ModeSocket|fs.FileMode(socketMode))
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the socket is there after Close", name)
		}
	}
}

// TestListenUnixOnUsedPaths checks that a socket without a listener is replaced, and any other file is refused.
func TestListenUnixOnUsedPaths(t *testing.T) {
	dir := t.TempDir()
	stale, live, file := filepath.Join(dir, "stale"), filepath.Join(dir, "live"), filepath.Join(dir, "file")
	listen := func(path string) *net.UnixListener {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	killed := listen(stale)
	killed.SetUnlinkOnClose(false)
	if err := errors.Join(killed.Close(), os.WriteFile(file, []byte("kept"), 0o600), os.Symlink(file, filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	defer listen(live).Close()
	for path, says := range map[string]string{
		stale:                          "",
		live:                           "another process listens there",
		file:                           "not a socket",
		filepath.Join(dir, "link"):     "not a socket",
		dir:                            "not a socket",
		filepath.Join(dir, "no", "a"):  "there is no directory " + filepath.Join(dir, "no"),
		filepath.Join(file, "a"):       "not a directory",
		dir + strings.Repeat("a", 120): "cannot have",
	} {
		l, err := listenUnix(t.Context(), path)
		if err == nil {
			_ = l.Close()
		}
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", path, err, says)
		}
	}
	if content, err := os.ReadFile(file); err != nil || string(content) != "kept" {
		t.Errorf("the file has %q, %v", content, err)
	}
	conn, err := new(net.Dialer).DialContext(t.Context(), "unix", live)
	if err != nil {
		t.Fatalf("the socket of the other process: %v", err)
	}
	_ = conn.Close()
}
