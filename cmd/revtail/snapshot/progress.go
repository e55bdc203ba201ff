package snapshot

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
	what     string
	began    time.Time
	drawn    time.Time
}

func newProgress(w io.Writer, what string) *progress {
	p := &progress{what: what, began: time.Now()}
	if command.IsTerminal(w) {
		p.terminal = w
	}
	return p
}

// show replaces the line.
func (p *progress) show(done, total int64) {
	now := time.Now()
	if p.terminal == nil || now.Sub(p.drawn) < redraw && done < total {
		return
	}
	p.drawn = now
	rate := int64(float64(done) / max(now.Sub(p.began).Seconds(), redraw.Seconds()))
	_, _ = fmt.Fprintf(p.terminal, "\r\x1b[K%s: %s of %s, %d %%, %s/s", p.what, size(done), size(total), 100*done/max(total, 1), size(rate))
}

// end removes the line.
func (p *progress) end() {
	if p.terminal != nil && !p.drawn.IsZero() {
		_, _ = fmt.Fprint(p.terminal, "\r\x1b[K")
	}
}

// size returns a number of bytes for people.
func size(bytes int64) string {
	units, n := []string{"B", "KiB", "MiB", "GiB", "TiB"}, float64(bytes)
	for n >= 1024 && len(units) > 1 {
		n, units = n/1024, units[1:]
	}
	if units[0] == "B" {
		return fmt.Sprintf("%d B", bytes)
	}
	return fmt.Sprintf("%.1f %s", n, units[0])
}
