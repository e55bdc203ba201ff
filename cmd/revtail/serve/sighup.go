package serve

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// notifySIGHUP keeps SIGHUP from ending the process. The channel buffers one signal.
func notifySIGHUP() <-chan os.Signal {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	return signals
}

// ignoreSIGPIPE keeps the process alive when the reader of its stdout or stderr exits. Writes to them fail then.
func ignoreSIGPIPE() { signal.Ignore(syscall.SIGPIPE) }

// reloadOnSIGHUP reads the reloadable files again at each SIGHUP.
func (p *process) reloadOnSIGHUP(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.sighup:
		}
		p.logger.Info("SIGHUP: reading files again")
		for _, f := range p.reloadables() {
			f.Reload()
		}
	}
}
