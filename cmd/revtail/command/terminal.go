package command

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// IsTerminal reports whether a stream, which is an io.Reader or an io.Writer, is a terminal.
func IsTerminal(stream any) bool {
	f, isFile := stream.(*os.File)
	return isFile && term.IsTerminal(int(f.Fd()))
}

// UseColor evaluates --color, which is auto, always or never.
func UseColor(when string, stdout io.Writer) (bool, error) {
	switch when {
	case "auto":
		return IsTerminal(stdout) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb", nil
	case "always", "never":
		return when == "always", nil
	}
	return false, fmt.Errorf("--color %q: want auto, always or never", when)
}

// Printable escapes characters that are neither printable nor a tab, as Go does: they would act on a terminal.
func Printable(text string) string {
	if strings.IndexFunc(text, unprintable) < 0 {
		return text
	}
	var out strings.Builder
	for _, c := range text {
		if unprintable(c) {
			out.WriteString(strings.Trim(fmt.Sprintf("%+q", c), "'"))
			continue
		}
		out.WriteRune(c)
	}
	return out.String()
}

func unprintable(c rune) bool { return c != '\t' && !unicode.IsPrint(c) }

// CanAsk reports whether a command can ask the user: standard input is a terminal.
func CanAsk(cmd *cobra.Command) bool { return IsTerminal(cmd.InOrStdin()) }

// Ask asks on standard error whether to go on, and reports whether the answer is yes. If it is not, it says that nothing is done.
func Ask(cmd *cobra.Command, question string) (bool, error) {
	if _, err := fmt.Fprintf(cmd.ErrOrStderr(), "%s [y/N] ", question); err != nil {
		return false, err
	}
	answer := make(chan string, 1)
	go func() { // ends with the answer, or with the process
		line, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n') // the end of the input is no answer
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case text := <-answer:
		if text == "y" || text == "yes" {
			return true, nil
		}
	case <-cmd.Context().Done(): // SIGINT
	}
	return false, &ExitError{ExitFailure, errors.New("nothing is done: the answer was not yes")}
}

// ShowProgress shows on a terminal how far a long command is, in one line; done of total erases the line. Elsewhere it does nothing.
func ShowProgress(cmd *cobra.Command, what string, done, total int) {
	if total < minProgress || !IsTerminal(cmd.ErrOrStderr()) {
		return
	}
	line := "\r\x1b[K"
	if done < total {
		line += fmt.Sprintf("%s: %d of %d", what, done, total)
	}
	_, _ = io.WriteString(cmd.ErrOrStderr(), line) // the command does its work without it
}

// minProgress is the number of steps from which a command is long.
const minProgress = 20
