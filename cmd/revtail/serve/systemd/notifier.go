// Package systemd implements the sd_notify(3) protocol.
package systemd

import (
	"context"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"
)

// Notifier sends the state of the process to systemd, or to another supervisor with sd_notify(3).
type Notifier struct {
	socket   string // empty: no supervisor
	logger   *slog.Logger
	watchdog time.Duration // the interval in which the supervisor expects WATCHDOG=1; zero: never
}

// NewNotifier reads the environment variables of sd_notify, and removes them so that child processes do not inherit them.
func NewNotifier(logger *slog.Logger) Notifier {
	n := Notifier{logger: logger, socket: os.Getenv("NOTIFY_SOCKET")}
	pid := os.Getenv("WATCHDOG_PID")
	if us, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64); err == nil && us > 0 && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		n.watchdog = time.Duration(us) * time.Microsecond
	}
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		_ = os.Unsetenv(name) // the names are valid
	}
	return n
}

// sendTimeout bounds the wait for a supervisor that does not read, whose socket holds a few states.
const sendTimeout = time.Second

// Notify sends a state, as READY=1.
func (n Notifier) Notify(state string) {
	if n.socket == "" {
		return
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: n.socket, Net: "unixgram"})
	if err == nil {
		_ = conn.SetWriteDeadline(time.Now().Add(sendTimeout)) // an open socket takes it
		_, err = conn.Write([]byte(state))
		_ = conn.Close() // Write has sent the datagram
	}
	if err != nil {
		n.logger.Warn("the supervisor of this process did not receive the state", "state", state, "error", err)
	}
}

// RunWatchdog sends WATCHDOG=1 twice per watchdog interval. It calls check before each, which blocks if the process is stuck.
func (n Notifier) RunWatchdog(ctx context.Context, check func()) error {
	if n.watchdog == 0 {
		return nil
	}
	for tick := time.Tick(n.watchdog / 2); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
		check()
		n.Notify("WATCHDOG=1")
	}
}
