package main

import (
	"fmt"
	"syscall"
)

// freeze stops the program until thaw; its connections stay open.
func (p *process) freeze() error { return p.signal(syscall.SIGSTOP) }

// thaw lets a frozen program continue.
func (p *process) thaw() error { return p.signal(syscall.SIGCONT) }

func (p *process) signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("%s: %v: %w: %s", p.name, s, err, p.lastWords())
	}
	return nil
}
