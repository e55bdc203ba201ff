//go:build unix

package gatewaytest

import (
	"syscall"
	"testing"
)

// Freeze stops a process where it is, as a machine does that is out of memory; its connections stay open. Thaw lets it go on.
func (p *process) Freeze(tb testing.TB) {
	tb.Helper()
	p.signal(tb, syscall.SIGSTOP)
	tb.Cleanup(func() { _ = p.cmd.Process.Signal(syscall.SIGCONT) }) // or it would not end
}

// Thaw ends Freeze.
func (p *process) Thaw(tb testing.TB) {
	tb.Helper()
	p.signal(tb, syscall.SIGCONT)
}
