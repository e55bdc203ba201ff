package clients

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// reader copies the commands of a document into a shell, on a machine where every client is configured for a trap.
type reader struct {
	trap      *gatewaytest.Trap
	folder    string // the working folder
	env       []string
	path      string // the command that has set PATH; each terminal runs it
	shell     *follower
	terminals []*follower // with the commands that do not end
	shown     []string    // the lines of the terminals
}

// newReader opens a shell in a folder.
func newReader(t *testing.T, folder string) *reader {
	t.Helper()
	r := &reader{trap: gatewaytest.NewTrap(t), folder: folder}
	bin, editor := filepath.Join(r.trap.Home, "bin"), filepath.Join(r.trap.Home, "bin", "editor")
	err := errors.Join(
		os.Mkdir(bin, 0o700),
		os.Symlink(gatewaytest.Binary(t), filepath.Join(bin, "revtail")),
		os.WriteFile(filepath.Join(r.trap.Home, ".curlrc"), []byte("silent\n"), 0o600),                // because its progress would be among the lines
		os.WriteFile(editor, []byte("#!/bin/sh\nexec sed -i 's/cache 30/cache 31/' \"$1\"\n"), 0o700)) //nolint:gosec // a program
	for _, name := range []string{"kubectl", "etcdctl", "etcdutl"} {
		err = errors.Join(err, os.Symlink(gatewaytest.Tool(t, name), filepath.Join(bin, name)))
	}
	if err != nil {
		t.Fatal(err)
	}
	r.env = append(r.trap.Env(bin), "EDITOR="+editor)
	r.shell = startFollower(t, r.bash(t))
	r.do(t, gatewaytest.Step{Command: "exec 2>&1"})
	return r
}

// bash is a shell with the environment of the reader.
func (r *reader) bash(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), installed(t, "bash", "bash"), args...)
	cmd.Dir, cmd.Env = r.folder, r.env
	return cmd
}

// run runs a command: a command that does not end, which is a server or a watch, in a terminal of its own.
func (r *reader) run(t *testing.T, step gatewaytest.Step) {
	t.Helper()
	endless := strings.HasPrefix(step.Command, "revtail serve") || strings.Contains(step.Command, "watch") && !strings.HasSuffix(step.Command, "&")
	if endless {
		r.follow(t, step)
		return
	}
	r.do(t, step)
	if strings.HasPrefix(step.Command, "export PATH=") {
		r.path = step.Command + "\n"
	}
}

// commandEnd begins the line that the shell prints after each command.
const commandEnd = "end of the command: "

// do runs a command in the shell, and waits for its end and for the lines of the document. Other lines may be between them.
func (r *reader) do(t *testing.T, step gatewaytest.Step) {
	t.Helper()
	if code := r.try(t, step); code != "0" {
		t.Fatalf("line %d of the document: %s: exit code %s", step.Line, step.Command, code)
	}
}

// try is do for a command that may fail. It returns the exit code.
func (r *reader) try(t *testing.T, step gatewaytest.Step) (code string) {
	t.Helper()
	command := step.Command
	if background, ok := strings.CutSuffix(command, "&"); ok {
		command = background + "| grep --line-buffered '' &" // so that no other command prints in the middle of a line
	}
	if _, err := io.WriteString(r.shell.stdin, command+"\nprintf '\\n"+commandEnd+"%d\\n' $?\n"); err != nil {
		t.Fatal(err)
	}
	var printed []string
	want := shownLines(step.Output)
	defer func() {
		if t.Failed() || code != "0" {
			t.Logf("line %d of the document: %s\nprints\n%s\nand not yet\n%s", step.Line, step.Command, strings.Join(printed, "\n"), strings.Join(want, "\n"))
		}
	}()
	for code == "" || len(want) > 0 {
		line := r.shell.next(t)
		if after, ended := strings.CutPrefix(line, commandEnd); ended {
			code = after
			continue
		}
		printed = append(printed, line)
		if len(want) > 0 && shows(want[0], line) {
			want = want[1:]
		}
	}
	return code
}

// follow runs a command that does not end in a terminal of its own, and waits for the lines of the document.
func (r *reader) follow(t *testing.T, step gatewaytest.Step) {
	t.Helper()
	cmd := r.bash(t, "-c", "exec 2>&1\n"+r.path+step.Command)
	cmd.Path, cmd.Args = installed(t, "stdbuf", "coreutils"), append([]string{"stdbuf", "-oL"}, cmd.Args...) // curl writes lines to a terminal, blocks to a pipe
	terminal := startFollower(t, cmd)
	r.terminals = append(r.terminals, terminal)
	want := shownLines(step.Output)
	defer func() {
		if t.Failed() {
			t.Logf("line %d of the document: %s\nThe terminals show\n%s\nand not yet\n%s", step.Line, step.Command, strings.Join(r.shown, "\n"), strings.Join(want, "\n"))
		}
	}()
	for len(want) > 0 {
		line := terminal.next(t)
		r.shown = append(r.shown, line)
		if shows(want[0], line) {
			want = want[1:]
		}
	}
}

// expect waits until the terminals have shown the lines of a document.
func (r *reader) expect(t *testing.T, lines string) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("The terminals show\n%s", strings.Join(r.shown, "\n"))
		}
	}()
	for _, want := range shownLines(lines) {
		gatewaytest.Until(t, want, func() bool {
			for _, terminal := range r.terminals {
				for len(terminal.lines) > 0 {
					r.shown = append(r.shown, <-terminal.lines)
				}
			}
			for _, line := range r.shown {
				if shows(want, line) {
					return true
				}
			}
			return false
		})
	}
}

// differs matches the lines of an output that are never the same.
var differs = regexp.MustCompile(`^(Audit-Id|Date): `)

// shownLines returns the lines of an output that are not empty or decoration.
func shownLines(output string) []string {
	var out []string
	for line := range strings.Lines(output) {
		if line = strings.TrimRight(line, " \n"); line != "" && line != "…" && !differs.MatchString(line) {
			out = append(out, line)
		}
	}
	return out
}

var (
	leftOut  = regexp.MustCompile(`,"(?:uid|creationTimestamp)":"[^"]*"|,"managedFields":\[.*?"time":"[^"]*"\}\]|,(…)`)
	revision = regexp.MustCompile(`(resourceVersion"?: ?"|\(revision )\d+(, [\d:]+)?`)
	blanks   = regexp.MustCompile(` +`)
)

// shows reports whether a line is the one of the document, except for revisions and the width of columns. "…" is any text, and ",…" may be
// empty.
func shows(want, line string) bool {
	normal := func(s string) string {
		s = revision.ReplaceAllString(leftOut.ReplaceAllString(s, "$1"), "${1}N")
		return blanks.ReplaceAllString(strings.TrimRight(s, " \r"), " ")
	}
	return pattern([]string{normal(want)}).MatchString(normal(line) + "\n")
}
