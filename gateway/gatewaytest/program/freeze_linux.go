package program

import (
	"fmt"
	"syscall"
)

// Freeze stops the program until Thaw; its connections stay open.
func (p *Process) Freeze() error { return p.signal(syscall.SIGSTOP) }

// Thaw lets a frozen program continue.
func (p *Process) Thaw() error { return p.signal(syscall.SIGCONT) }

func (p *Process) signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("%s: %v: %w: %s", p.Name, s, err, p.LastWords())
	}
	return nil
}
