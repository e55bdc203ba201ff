package main

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

func TestSupervisorIsReassuredWhileAlive(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "2000")
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	s := findSupervisor(slog.New(slog.DiscardHandler))
	if os.Getenv("NOTIFY_SOCKET") != "" {
		t.Error("processes that this one starts would be taken for it")
	}
	next := func() string {
		var text [64]byte
		n, err := conn.Read(text[:])
		if err != nil {
			t.Fatal(err)
		}
		return string(text[:n])
	}
	ctx, cancel := context.WithCancel(t.Context())
	asked, stuck, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		ended <- s.reassure(ctx, func() {
			asked <- struct{}{}
			<-stuck
		})
	}()
	<-asked
	s.tell("READY=1") // comes before: it is not reassured while it is stuck
	if got := next(); got != "READY=1" {
		t.Errorf("the first message is %q", got)
	}
	close(stuck)
	go func() {
		for range asked { // let it go on
		}
	}()
	if got := next(); got != "WATCHDOG=1" {
		t.Errorf("the second message is %q", got)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	close(asked)
}

func TestNoSupervisor(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	t.Setenv("WATCHDOG_USEC", "1000")
	t.Setenv("WATCHDOG_PID", "1") // somebody else
	s := findSupervisor(nil)
	s.tell("READY=1")
	if err := s.reassure(t.Context(), nil); err != nil || s.watchdog != 0 {
		t.Errorf("%v, watchdog %v; want none", err, s.watchdog)
	}
}
