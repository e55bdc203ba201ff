package historydir

import (
	"fmt"
	"io"
	"time"

	"revtail/cmd/revtail/command"
)

// redraw is the shortest time between two lines of a progress.
const redraw = 100 * time.Millisecond

// progress shows on a terminal how far a command is, in one line.
type progress struct {
	terminal io.Writer // nil: no terminal
	drawn    time.Time
}

func newProgress(w io.Writer) *progress {
	p := &progress{}
	if command.IsTerminal(w) {
		p.terminal = w
	}
	return p
}

// show replaces the line.
func (p *progress) show(what string, done, total int64) {
	if p.terminal == nil {
		return
	}
	now := time.Now()
	if now.Sub(p.drawn) < redraw {
		return
	}
	p.drawn = now
	line := command.Printable(what)
	switch {
	case total > 0:
		line += fmt.Sprintf(": %d of %d, %d %%", done, total, 100*done/total)
	case done > 0:
		line += fmt.Sprintf(": %d", done)
	}
	_, _ = fmt.Fprintf(p.terminal, "\r\x1b[K%s", line)
}

// end removes the line.
func (p *progress) end() {
	if p.terminal != nil && !p.drawn.IsZero() {
		_, _ = fmt.Fprint(p.terminal, "\r\x1b[K")
	}
}
