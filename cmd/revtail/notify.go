package main

import (
	"context"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"
)

// supervisor is systemd, or who else started this process and wants to hear how it is (sd_notify(3)).
type supervisor struct {
	socket   string // empty: nobody wants to
	logger   *slog.Logger
	watchdog time.Duration // how often it wants to hear that the process is alive; zero: never
}

// findSupervisor reads the environment, and takes it away from the processes that this one starts.
func findSupervisor(logger *slog.Logger) supervisor {
	s := supervisor{logger: logger, socket: os.Getenv("NOTIFY_SOCKET")}
	pid := os.Getenv("WATCHDOG_PID")
	if us, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64); err == nil && us > 0 && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		s.watchdog = time.Duration(us) * time.Microsecond
	}
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		_ = os.Unsetenv(name) // the names are valid
	}
	return s
}

// tell sends a state, as READY=1.
func (s supervisor) tell(state string) {
	if s.socket == "" {
		return
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: s.socket, Net: "unixgram"})
	if err == nil {
		_, err = conn.Write([]byte(state))
		_ = conn.Close() // a datagram is sent, or not
	}
	if err != nil {
		s.logger.Warn("the supervisor of this process cannot be told how it is", "state", state, "error", err)
	}
}

// reassure says that the process is alive, twice in the time after which it is taken for dead, as long as alive returns.
func (s supervisor) reassure(ctx context.Context, alive func()) error {
	if s.watchdog == 0 {
		return nil
	}
	tick := time.NewTicker(s.watchdog / 2)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		alive()
		s.tell("WATCHDOG=1")
	}
}
