package diff

import "bytes"

// Escape sequences of terminals (ECMA-48, SGR).
const (
	Red    = "\x1b[31m"
	Green  = "\x1b[32m"
	Yellow = "\x1b[33m"
	Dim    = "\x1b[2m"
	reset  = "\x1b[0m"
)

var opColors = map[Op]string{Removed: Red, Added: Green, Context: Dim}

// Printer prints differences, with colours if Colored is set.
type Printer struct{ Colored bool }

// Lines prints one line for each line of a difference.
func (p Printer) Lines(out *bytes.Buffer, lines []Line) {
	for _, line := range lines {
		p.Text(out, opColors[line.Op], string(line.Op)+" "+line.Text)
		out.WriteByte('\n')
	}
}

// Text prints a text in a colour.
func (p Printer) Text(out *bytes.Buffer, color, text string) {
	if p.Colored && color != "" {
		text = color + text + reset
	}
	out.WriteString(text)
}
