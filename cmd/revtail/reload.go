package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// catchHangups keeps SIGHUP from ending the process, from now on. The channel holds one that nobody has heard yet.
func catchHangups() <-chan os.Signal {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	return hangups
}

// outliveReaders keeps the process alive when nobody reads its stdout or stderr any more: what it writes there is lost, and nothing
// else is.
func outliveReaders() { signal.Ignore(syscall.SIGPIPE) }

// reloadAtHangups reads again, at each SIGHUP, the files that may change while the gateway runs.
func (p *process) reloadAtHangups(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.hangups:
		}
		p.logger.Info("SIGHUP: reading files again")
		for _, f := range p.files() {
			f.Reload()
		}
	}
}
