//go:build !noembedded

package embedded_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"
	"go.uber.org/goleak"

	"revtail/etcdstore"
	"revtail/etcdstore/embedded"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(startIn); dir != "" {
		_, err := embedded.Start(context.Background(), embedded.Config{DataDir: dir, ClientURL: anyPort})
		_, _ = fmt.Fprintln(os.Stdout, "Start:", err) // the test reads it
		return
	}
	goleak.VerifyTestMain(m)
}

// startIn is the environment variable that makes this program start an etcd in a directory and print the error.
const startIn = "EMBEDDED_TEST_START_IN"

const anyPort = "http://127.0.0.1:0"

// start runs a member on a free port until the test ends.
func start(t *testing.T, cfg embedded.Config) *embedded.Server {
	t.Helper()
	s, err := tryStart(t, cfg)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

func tryStart(t *testing.T, cfg embedded.Config) (*embedded.Server, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	return embedded.Start(ctx, cfg)
}

func open(t *testing.T, s *embedded.Server) *etcdstore.Etcd {
	t.Helper()
	store, err := etcdstore.Open(etcdstore.Config{Endpoints: s.Endpoints(), TLS: s.TLS()})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

func TestStart(t *testing.T) {
	t.Run("keeps data and revision over a restart", func(t *testing.T) {
		cfg := embedded.Config{DataDir: filepath.Join(t.TempDir(), "deep", "data"), ClientURL: anyPort}
		s := start(t, cfg)
		store := open(t, s)
		want, err := store.Create(t.Context(), "/a", []byte("1"))
		if err != nil {
			t.Fatalf("Create: %v", err)
		}
		_ = store.Close()
		if err := s.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}

		kv, revision, err := open(t, start(t, cfg)).Get(t.Context(), "/a")
		if err != nil || string(kv.Value) != "1" || kv.Modified != want || revision != want {
			t.Errorf("after the restart: %q modified at %d, revision %d, error %v; want %q at %d", kv.Value, kv.Modified, revision, err, "1", want)
		}
	})

	t.Run("of disposable data", func(t *testing.T) {
		cfg := embedded.Config{DataDir: filepath.Join(t.TempDir(), "data"), Disposable: true}
		s := start(t, cfg)
		if _, err := open(t, s).Create(t.Context(), "/a", []byte("1")); err != nil {
			t.Fatalf("Create: %v", err)
		}
	})

	t.Run("makes the data directory for its owner alone", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "data")
		start(t, embedded.Config{DataDir: dir, ClientURL: anyPort})
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o700 {
			t.Errorf("mode %o, want 700", got)
		}
	})

	t.Run("shows a real port for port 0", func(t *testing.T) {
		endpoints := start(t, embedded.Config{DataDir: t.TempDir(), ClientURL: "http://localhost:0"}).Endpoints()
		if len(endpoints) != 1 || strings.HasSuffix(endpoints[0], ":0") {
			t.Fatalf("endpoints %q, want one with a real port", endpoints)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, endpoints[0]+"/health", nil)
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatalf("the endpoint does not answer: %v", err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("GET /health: %s", resp.Status)
		}
	})

	t.Run("has a private socket and no port without a client URL", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "a folder")
		if err := os.Mkdir(dir, 0o777); err != nil { //nolint:gosec // the folder of a careless operator
			t.Fatal(err)
		}
		folder := filepath.Join(dir, "client")
		if err := errors.Join(os.Mkdir(folder, 0o777), os.WriteFile(filepath.Join(folder, "etcd.sock"), nil, 0o600)); err != nil { //nolint:gosec // left by a process that was killed
			t.Fatal(err)
		}
		s := start(t, embedded.Config{DataDir: dir})
		socket, err := embedded.SocketURL(dir)
		if diff := cmp.Diff([]string{socket}, s.Endpoints()); diff != "" || err != nil {
			t.Errorf("endpoints (-want +got), error %v:\n%s", err, diff)
		}
		info, err := os.Stat(folder)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("the folder of the socket: %v %v, want mode 700", info, err)
		}
		if _, err := open(t, s).Create(t.Context(), "/a", []byte("1")); err != nil {
			t.Errorf("Create through the socket: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
			t.Errorf("after Close: %v %v, want no socket", entries, err)
		}
	})

	t.Run("removes the socket of an earlier process with a client URL", func(t *testing.T) {
		dir := t.TempDir()
		socket := filepath.Join(dir, "client", "etcd.sock")
		if err := errors.Join(os.Mkdir(filepath.Dir(socket), 0o700), os.WriteFile(socket, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		start(t, embedded.Config{DataDir: dir, ClientURL: anyPort})
		if _, err := os.Stat(socket); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("Stat: %v, want no file", err)
		}
	})

	t.Run("refuses a data directory whose path is too long for a socket", func(t *testing.T) {
		_, err := tryStart(t, embedded.Config{DataDir: filepath.Join(t.TempDir(), strings.Repeat("a", 100))})
		var address *embedded.AddressError
		if !errors.As(err, &address) || !strings.Contains(err.Error(), "the path of a socket cannot have") {
			t.Errorf("Start: %v, want an *AddressError", err)
		}
	})

	t.Run("answers no foreign page", func(t *testing.T) {
		endpoint := start(t, embedded.Config{DataDir: t.TempDir(), ClientURL: "http://127.0.0.2:0"}).Endpoints()[0]
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		for host, code := range map[string]int{"": 200, "localhost": 200, "[::1]": 200, "[::1]:1": 200, "127.0.0.1:1": 200, "evil.example.com": 421, "evil.example.com:2379": 421} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, endpoint+"/metrics", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Host = host
			req.Header.Set("Origin", "https://evil.example.com")
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			if origin := resp.Header.Get("Access-Control-Allow-Origin"); resp.StatusCode != code || origin != "" {
				t.Errorf("Host %q: %s, readable by %q; want %d, and by none", host, resp.Status, origin, code)
			}
		}
	})

	t.Run("ends with its context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		dir := t.TempDir()
		if s, err := embedded.Start(ctx, embedded.Config{DataDir: dir, ClientURL: anyPort}); !errors.Is(err, context.Canceled) {
			if err == nil {
				_ = s.Close()
			}
			t.Errorf("Start in an ended context: %v, want one that wraps context.Canceled", err)
		}
		// A part of the start that cannot be interrupted is closed in the background, and then the directory is free.
		eventually(t, func() error {
			s, err := tryStart(t, embedded.Config{DataDir: dir, ClientURL: anyPort})
			if err == nil {
				err = s.Close()
			}
			return err
		})
	})
}

func TestCloseMayBeRepeated(t *testing.T) {
	s := start(t, embedded.Config{DataDir: t.TempDir(), ClientURL: anyPort})
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	select {
	case err := <-s.Err():
		t.Errorf("Err after Close: %v, want nothing", err)
	default:
	}
}

func TestDataDirInUse(t *testing.T) {
	dir := t.TempDir()
	first := start(t, embedded.Config{DataDir: dir, ClientURL: anyPort})

	s, err := tryStart(t, embedded.Config{DataDir: dir, ClientURL: anyPort})
	var inUse *embedded.DataDirError
	if !errors.As(err, &inUse) || !errors.Is(err, embedded.ErrDataDirInUse) || inUse.Dir != dir {
		if err == nil {
			_ = s.Close()
		}
		t.Fatalf("second Start: %v, want a *DataDirError for %s", err, dir)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	start(t, embedded.Config{DataDir: dir, ClientURL: anyPort})
}

// A plain etcd does not know the lock on the directory, but it locks its database.
func TestDataDirInUseByAPlainEtcd(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "member", "snap", "db")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := tryStart(t, embedded.Config{DataDir: dir, ClientURL: anyPort}); !errors.Is(err, embedded.ErrDataDirInUse) {
		t.Errorf("Start: %v, want %v", err, embedded.ErrDataDirInUse)
	}
}

func TestDataDirUnusable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	noDatabase := t.TempDir()
	db := filepath.Join(noDatabase, "member", "snap", "db")
	if err := errors.Join(os.MkdirAll(filepath.Dir(db), 0o700), os.WriteFile(db, make([]byte, 1<<15), 0o600)); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, dir, names string }{
		{"a file", file, file},
		{"under a file", filepath.Join(file, "data"), file},
		{"file that is no database", noDatabase, db},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := tryStart(t, embedded.Config{DataDir: test.dir, ClientURL: anyPort})
			var unusable *embedded.DataDirError
			if !errors.As(err, &unusable) || errors.Is(err, embedded.ErrDataDirInUse) {
				t.Fatalf("Start: %v, want a *DataDirError", err)
			}
			if !strings.Contains(err.Error(), test.names) {
				t.Errorf("error %q does not name %s", err, test.names)
			}
		})
	}
}

// Data that cannot be read makes etcd itself exit or panic. The test uses another process, because an etcd that gave up leaves goroutines
// behind.
func TestBrokenDataIsAnError(t *testing.T) {
	tests := []struct {
		name, glob, says string
		broken           func(data []byte) []byte
	}{
		{"log with a changed byte", "member/wal/*.wal", "crc mismatch", func(data []byte) []byte { data[100] ^= 1; return data }},
		{"file that is no log", "member/wal/*.wal", "cannot read its files", func([]byte) []byte { return []byte(strings.Repeat("not a log ", 100)) }},
		{"database cut off", "member/snap/db", "snap/db: cut off", func(data []byte) []byte { return data[:3*4096] }},
		{"database without its log", "member/wal/*.wal", "gave up", func([]byte) []byte { return nil }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := start(t, embedded.Config{DataDir: dir, ClientURL: anyPort}).Close(); err != nil {
				t.Fatal(err)
			}
			spoil(t, filepath.Join(dir, test.glob), test.broken)
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), startIn+"="+dir)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("the process died: %v\n%s", err, out)
			}
			if !strings.Contains(string(out), "data directory "+dir) || !strings.Contains(string(out), test.says) {
				t.Errorf("want an error that names the directory and says %q, got %s", test.says, out)
			}
		})
	}
}

// spoil replaces the content of files.
func spoil(t *testing.T, glob string, broken func([]byte) []byte) {
	t.Helper()
	paths, err := filepath.Glob(glob)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files match %s (%v)", glob, err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, broken(data), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestAddressInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := t.TempDir()
	_, err = tryStart(t, embedded.Config{DataDir: dir, ClientURL: "http://" + l.Addr().String()})
	var busy *embedded.AddressError
	if !errors.As(err, &busy) || !errors.Is(err, embedded.ErrAddressInUse) || busy.Address != l.Addr().String() {
		t.Fatalf("Start: %v, want an *AddressError for %s", err, l.Addr())
	}
	start(t, embedded.Config{DataDir: dir, ClientURL: anyPort})
}

func TestConfigRefused(t *testing.T) {
	tests := []struct {
		name, says string
		cfg        embedded.Config
	}{
		{"any address", "loopback", embedded.Config{ClientURL: "http://0.0.0.0:2379"}},
		{"a host name", "loopback", embedded.Config{ClientURL: "http://etcd.example:2379"}},
		{"no host", "loopback", embedded.Config{ClientURL: "http://:2379"}},
		{"TLS", "want http://", embedded.Config{ClientURL: "https://127.0.0.1:2379"}},
		{"no port", "want http://", embedded.Config{ClientURL: "http://127.0.0.1"}},
		{"a path", "want http://", embedded.Config{ClientURL: "http://127.0.0.1:2379/x"}},
		{"not a URL", "client URL", embedded.Config{ClientURL: "http://127.0.0.1:port"}},
		{"file and data directory", "excludes", embedded.Config{ConfigFile: "etcd.yaml", DataDir: "data"}},
		{"file that is not there", "no such file", embedded.Config{ConfigFile: filepath.Join("testdata", "absent.yaml")}},
		{"file that is no YAML", "yaml", embedded.Config{ConfigFile: write(t, "\t{")}},
		{"file without data-dir", "data-dir", embedded.Config{ConfigFile: write(t, "name: a\n")}},
		{"file with a bad URL", "listen-client-urls", embedded.Config{ConfigFile: write(t, "data-dir: d\nlisten-client-urls: 127.0.0.1:1\n")}},
		{"file with a bad origin", "missing protocol scheme", embedded.Config{ConfigFile: write(t, "data-dir: d\ncors: '::'\n")}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := tryStart(t, test.cfg)
			var refused *embedded.ConfigError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("Start: %v, want a *ConfigError that says %q", err, test.says)
			}
		})
	}
}

func TestConfigFile(t *testing.T) {
	t.Run("plain", func(t *testing.T) {
		s := start(t, embedded.Config{ConfigFile: write(t, fileConfig(t, "http", ""))})
		if s.TLS() != nil {
			t.Error("TLS for an http URL, want nil")
		}
		if _, err := open(t, s).Create(t.Context(), "/a", []byte("1")); err != nil {
			t.Errorf("Create: %v", err)
		}
	})
	t.Run("TLS with a certificate that etcd makes", func(t *testing.T) {
		s := start(t, embedded.Config{ConfigFile: write(t, fileConfig(t, "https", "client-transport-security: {auto-tls: true}\n"))})
		if !strings.HasPrefix(s.Endpoints()[0], "https://127.0.0.1:") {
			t.Errorf("endpoints %q, want https on 127.0.0.1", s.Endpoints())
		}
		if _, err := open(t, s).Create(t.Context(), "/a", []byte("1")); err != nil {
			t.Errorf("Create: %v", err)
		}
	})
}

// fileConfig returns an etcd configuration of one member on all addresses and a free port.
func fileConfig(t *testing.T, scheme, more string) string {
	t.Helper()
	return fmt.Sprintf("name: m1\ndata-dir: %s\nlisten-client-urls: %s://0.0.0.0:0\nadvertise-client-urls: %[2]s://127.0.0.1:0\n"+
		"listen-peer-urls: http://127.0.0.1:0\ninitial-cluster: m1=http://localhost:2380\n%s", filepath.Join(t.TempDir(), "data"), scheme, more)
}

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "etcd.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// eventually repeats ask until it succeeds.
func eventually(t *testing.T, ask func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		err := ask()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("not within 30 s: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
