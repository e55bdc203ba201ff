package command

import (
	"fmt"
	"io"
	"time"
)

// redraw is the shortest time between two lines of a progress.
const redraw = 100 * time.Millisecond

// Progress shows on a terminal how far a command is, in one line.
type Progress struct {
	terminal io.Writer // nil: no terminal
	drawn    time.Time
}

// NewProgress returns a progress on w, which shows nothing unless w is a terminal.
func NewProgress(w io.Writer) *Progress {
	p := &Progress{}
	if IsTerminal(w) {
		p.terminal = w
	}
	return p
}

// Show replaces the line.
func (p *Progress) Show(what string, done, total int64) {
	if p.terminal == nil {
		return
	}
	now := time.Now()
	if now.Sub(p.drawn) < redraw {
		return
	}
	p.drawn = now
	line := Printable(what)
	switch {
	case total > 0:
		line += fmt.Sprintf(": %d of %d, %d %%", done, total, 100*done/total)
	case done > 0:
		line += fmt.Sprintf(": %d", done)
	}
	_, _ = fmt.Fprintf(p.terminal, "\r\x1b[K%s", line)
}

// End removes the line.
func (p *Progress) End() {
	if p.terminal != nil && !p.drawn.IsZero() {
		_, _ = fmt.Fprint(p.terminal, "\r\x1b[K")
	}
}
