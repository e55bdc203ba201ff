//go:build unix

package gatewaytest

import (
	"syscall"
	"testing"
)

// Freeze stops a process, as on a machine without memory; its connections stay open. Thaw lets it continue.
func (p *process) Freeze(tb testing.TB) {
	tb.Helper()
	p.signal(tb, syscall.SIGSTOP)
	tb.Cleanup(func() { _ = p.cmd.Process.Signal(syscall.SIGCONT) }) // otherwise it would not end
}

// Thaw ends Freeze.
func (p *process) Thaw(tb testing.TB) {
	tb.Helper()
	p.signal(tb, syscall.SIGCONT)
}
