package command

import (
	"io"
	"os"

	"golang.org/x/term"
)

// defaultWidth is the width of lines for a file or a pipe, in columns.
const defaultWidth = 100

// Width returns the number of columns of a terminal, or a default if w is none.
func Width(w io.Writer) int {
	if f, isFile := w.(*os.File); isFile {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return defaultWidth
}
