package top

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

const (
	enter = "\x1b[?1049h\x1b[?25l" // the alternate screen, without a cursor
	leave = "\x1b[?25h\x1b[?1049l"
	home  = "\x1b[H"
	clear = "\x1b[K" // to the end of the line
	below = "\x1b[J" // to the end of the screen

	sizePeriod = 200 * time.Millisecond // between two looks at the size of the terminal
)

// screen is the interactive display.
type screen struct {
	in, out *os.File
	style   style

	width, height int
	report        *report // nil: the first one is awaited
	interval      time.Duration
	view          int
	sortBy        []int // of each view
	top           int   // the first row that is shown
	rows          int   // that fit
}

// run shows reports until ctx ends or the user quits. It restores the terminal at every end, also after a panic.
func (s *screen) run(ctx context.Context, reports <-chan report) (err error) {
	state, err := term.MakeRaw(int(s.in.Fd()))
	if err != nil {
		return fmt.Errorf("the terminal: %w", err)
	}
	defer func() {
		_, _ = io.WriteString(s.out, leave)
		_ = term.Restore(int(s.in.Fd()), state)
	}()
	if _, err := io.WriteString(s.out, enter); err != nil {
		return err
	}
	for _, v := range views {
		s.sortBy = append(s.sortBy, v.sortBy)
	}
	keys := make(chan string)
	go readKeys(ctx, s.in, keys)
	resized := time.NewTicker(sizePeriod)
	defer resized.Stop()
	for s.measure(); ; {
		if err := s.draw(); err != nil {
			return err
		}
		if !s.next(ctx, reports, keys, resized.C) {
			return nil
		}
	}
}

// next waits until something changes. It returns false at the end.
func (s *screen) next(ctx context.Context, reports <-chan report, keys <-chan string, look <-chan time.Time) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case r, open := <-reports:
			if !open {
				return false
			}
			s.report = &r
			return true
		case key, open := <-keys:
			if !open || key == "q" || key == "\x03" {
				return false
			}
			s.press(key)
			return true
		case <-look:
			if s.measure() {
				return true
			}
		}
	}
}

// measure reads the size of the terminal, and reports whether it has changed.
func (s *screen) measure() bool {
	width, height, err := term.GetSize(int(s.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		width, height = 80, 24
	}
	changed := width != s.width || height != s.height
	s.width, s.height = width, height
	return changed
}

// press handles a key.
func (s *screen) press(key string) {
	switch key {
	case "j", "\x1b[B", "\x1bOB":
		s.top++
	case "k", "\x1b[A", "\x1bOA":
		s.top--
	case " ", "\x1b[6~":
		s.top += s.rows
	case "b", "\x1b[5~":
		s.top -= s.rows
	case "g", "\x1b[H":
		s.top = 0
	case "G", "\x1b[F":
		s.top = 1 << 30
	case "s":
		s.sort(1)
	case "S":
		s.sort(-1)
	case "\t", "l", "\x1b[C", "\x1bOC":
		s.show(s.view + 1)
	case "h", "\x1b[D", "\x1bOD", "\x1b[Z":
		s.show(s.view - 1)
	case "1", "2", "3", "4":
		s.show(int(key[0] - '1'))
	}
}

func (s *screen) show(view int) {
	s.view, s.top = (view+len(views))%len(views), 0
}

// sort sorts by the next column, or by the one before.
func (s *screen) sort(step int) {
	columns := len(views[s.view].table(report{}).columns)
	s.sortBy[s.view] = (s.sortBy[s.view] + step + columns) % columns
	s.top = 0
}

// draw writes all lines, without clearing the screen before, which would flicker.
func (s *screen) draw() error {
	lines := s.lines()
	var out strings.Builder
	out.WriteString(home)
	for i, line := range lines[:min(len(lines), s.height)] {
		if i > 0 {
			out.WriteString("\r\n")
		}
		out.WriteString(line)
		out.WriteString(clear)
	}
	out.WriteString(below)
	_, err := io.WriteString(s.out, out.String())
	return err
}

// lines are as many as the terminal has, or fewer. The last one has the keys.
func (s *screen) lines() []string {
	help := limit("q quit  s sort  tab view  j k scroll", s.width, s.style.bold)
	if s.report == nil {
		return []string{limit("revtail top: waiting for the first answer …", s.width, s.style.bold), help}
	}
	title := fmt.Sprintf("revtail top  %s  every %s", s.report.Time.Local().Format(time.TimeOnly), s.interval)
	out := append([]string{limit(title, s.width, s.style.bold)}, s.report.head(s.width, s.style)...)
	if most := s.height - 6; len(out) > most && most > 0 { // the views keep some lines
		out = out[:most]
	}
	view := views[s.view]
	t := view.table(*s.report)
	t.sort(s.sortBy[s.view])
	out = append(out, "", s.tabs())
	s.rows = max(s.height-len(out)-2, 1) // the heading of the table, and the help
	s.top = max(min(s.top, len(t.rows)-s.rows), 0)
	total := len(t.rows)
	t.rows = t.rows[s.top:min(s.top+s.rows, total)]
	if total == 0 {
		out = append(out, limit(view.nothing, s.width, s.style.plain))
	} else {
		out = append(out, t.lines(s.width, s.sortBy[s.view], s.style)...)
	}
	if total > s.rows {
		help = limit(fmt.Sprintf("q quit  s sort  tab view  j k scroll  %d-%d of %d", s.top+1, s.top+len(t.rows), total), s.width, s.style.bold)
	}
	return append(out, help)
}

// tabs is the line with the names of the views.
func (s *screen) tabs() string {
	var plain int
	var out []string
	for i, view := range views {
		name := fmt.Sprintf("%d %s", i+1, view.name)
		if plain += len(name) + 2; plain-2 > s.width {
			break
		}
		if i == s.view {
			name = s.style.selected(name)
		}
		out = append(out, name)
	}
	return strings.Join(out, "  ")
}

// readKeys sends keys, and sequences of arrows, until the input or ctx ends. The goroutine may wait for the input until the process ends.
func readKeys(ctx context.Context, in io.Reader, keys chan<- string) {
	defer close(keys)
	input := bufio.NewReader(in)
	for {
		first, _, err := input.ReadRune()
		if err != nil {
			return
		}
		key := string(first)
		if first == '\x1b' {
			for input.Buffered() > 0 && len(key) < 8 { // a terminal sends a sequence at once
				next, _ := input.ReadByte() // buffered
				key += string(next)
				if len(key) > 2 && (next >= 'A' && next <= 'Z' || next == '~') {
					break
				}
			}
		}
		select {
		case keys <- key:
		case <-ctx.Done():
			return
		}
	}
}
