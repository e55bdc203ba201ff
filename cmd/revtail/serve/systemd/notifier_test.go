package systemd

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
