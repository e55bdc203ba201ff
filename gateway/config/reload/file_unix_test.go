//go:build unix

package reload_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"revtail/gateway/config/reload"
)

// TestMetricsDoNotWait checks that metrics are collected while the read of a file blocks, as on a network file system that hangs.
func TestMetricsDoNotWait(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := reload.Open("--a-file", name, upper, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Skipf("this file system has no named pipes, and the test needs a file whose read blocks: %v", err)
	}
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(f.Reload)
	pipe, err := os.OpenFile(name, os.O_WRONLY, 0) // waits until Reload has opened the other end
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pipe.Close() }()
	if ok, failures := metrics(t, f); ok != 1 || failures != 0 {
		t.Errorf("metrics: %v, %v failures; want 1 and 0", ok, failures)
	}
}
