//go:build !noembedded

package embedded

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A start and a stop without problems log nothing for an operator.
func TestNoWarningsWithoutTrouble(t *testing.T) {
	var log bytes.Buffer // slog locks it
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	dir := filepath.Join(t.TempDir(), "data")
	for range 2 {
		s, err := Start(t.Context(), Config{DataDir: dir, ClientURL: "http://127.0.0.1:0", Logger: logger})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(log.String()) {
		if !strings.Contains(line, "slow fdatasync") && !strings.Contains(line, "took too long") { // a busy machine
			t.Errorf("logged: %s", line)
		}
	}
}

func TestErrReportsTheEndOfEtcd(t *testing.T) {
	s, err := Start(t.Context(), Config{DataDir: t.TempDir(), ClientURL: "http://127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	s.etcd.Server.HardStop()

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	select {
	case err := <-s.Err():
		if !errors.Is(err, errStopped) {
			t.Errorf("Err: %v, want %v", err, errStopped)
		}
	case <-ctx.Done():
		t.Error("Err returns nil 30 s after etcd ended")
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// Err returns what etcd logs at level fatal while it runs, and Close still unlocks the data directory.
func TestErrReportsFatalErrorsOfEtcd(t *testing.T) {
	dir := t.TempDir()
	s, err := Start(t.Context(), Config{DataDir: dir, ClientURL: "http://127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	// A graceful end, which Close must leave out, so that this test leaves no goroutines.
	t.Cleanup(s.etcd.Close)
	go s.etcd.GetLogger().Fatal("no space left on device")

	var fatal *FatalError
	if err := <-s.Err(); !errors.As(err, &fatal) || fatal.Message != "no space left on device" {
		t.Errorf("Err: %v, want a *FatalError", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		t.Fatalf("after Close the directory is still locked: %v", err)
	}
	_ = lock.Close()
}
