package systemd

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestWatchdogWhileAlive(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("NOTIFY_SOCKET", socket)
	t.Setenv("WATCHDOG_USEC", "2000")
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	n := NewNotifier(slog.New(slog.DiscardHandler))
	if os.Getenv("NOTIFY_SOCKET") != "" {
		t.Error("child processes inherit NOTIFY_SOCKET")
	}
	next := func() string {
		var text [64]byte
		size, err := conn.Read(text[:])
		if err != nil {
			t.Fatal(err)
		}
		return string(text[:size])
	}
	ctx, cancel := context.WithCancel(t.Context())
	asked, stuck, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		ended <- n.RunWatchdog(ctx, func() {
			asked <- struct{}{}
			<-stuck
		})
	}()
	<-asked
	n.Notify("READY=1") // arrives first, because check blocks the watchdog
	if got := next(); got != "READY=1" {
		t.Errorf("the first message is %q", got)
	}
	close(stuck)
	go func() {
		for range asked { // unblocks check
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

func TestNoNotifySocket(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	t.Setenv("WATCHDOG_USEC", "1000")
	t.Setenv("WATCHDOG_PID", "1") // another process
	n := NewNotifier(nil)
	n.Notify("READY=1")
	if err := n.RunWatchdog(t.Context(), nil); err != nil || n.watchdog != 0 {
		t.Errorf("error %v, watchdog %v; want neither", err, n.watchdog)
	}
}

// TestSupervisorThatDoesNotRead checks that the program does not wait for a supervisor whose socket is full.
func TestSupervisorThatDoesNotRead(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	var log bytes.Buffer
	n := NewNotifier(slog.New(slog.NewTextHandler(&log, nil)))
	for sent := 0; log.Len() == 0; sent++ { // a socket holds 10 datagrams by default, and its buffer ends somewhere
		if sent > 100_000 {
			t.Fatal("the socket holds everything")
		}
		n.Notify("WATCHDOG=1")
	}
	if !strings.Contains(log.String(), "did not receive the state") {
		t.Errorf("the log says %s", &log)
	}
}
