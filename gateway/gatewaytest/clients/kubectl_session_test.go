package clients

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

var rewrite = flag.Bool("update", false, "rewrite what the sessions in testdata expect, where it does not match")

// A session is a record of commands at a terminal. Its lines are
//
//		# a comment
//		$ a command line for sh, with kubectl in its PATH; lines that begin with "> " continue it
//	        = key template: the value of a key in etcd, below the prefix of resources, through a JSONPath template; or "(absent)"
//		& name command: starts a program that goes on beside it
//		~ metric: waits until the gateway's /metrics has this line
//		name> the next line that the program of that name writes
//
// and, below a command or a key, everything that is written there: to stdout and stderr, and "(exit N)" when it fails. In
// these lines "…" is any text, and a line "..." any lines. Blank lines at the end of an output, and blanks at the end of
// its lines, do not count. A program writes "(exit N)" at its end; what it writes and the session does not show is an error.
type session []*step

// step is a line of a session with an action, and the expected output.
type step struct {
	before []string // comments and blank lines, unchanged
	prompt string   // "$", "=", "&", "~", or the name of a program and ">"
	line   string   // the rest of the line; with the lines that continue it, after newlines
	want   []string // the output
}

var promptLine = regexp.MustCompile(`^([$=&~]|[a-z]+>) (.*)$`)

// parse reads a session.
func parse(text string) session {
	var s session
	var before []string
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		prompt := promptLine.FindStringSubmatch(line)
		switch {
		case prompt != nil:
			before = append(s.cutBlank(), before...)
			s = append(s, &step{before: before, prompt: prompt[1], line: prompt[2]})
			before = nil
		case line == ">" || strings.HasPrefix(line, "> "):
			s[len(s)-1].line += "\n" + strings.TrimPrefix(line[1:], " ")
		case strings.HasPrefix(line, "# "):
			before = append(append(before, s.cutBlank()...), line)
		case len(s) == 0 || len(before) > 0:
			before = append(before, line)
		default:
			s[len(s)-1].want = append(s[len(s)-1].want, line)
		}
	}
	return s
}

// cutBlank removes the blank lines at the end of the last step, because they are not output if another step follows.
func (s session) cutBlank() []string {
	if len(s) == 0 {
		return nil
	}
	last := s[len(s)-1]
	end := len(last.want)
	for end > 0 && last.want[end-1] == "" {
		end--
	}
	blank := last.want[end:]
	last.want = last.want[:end:end]
	return slices.Clone(blank)
}

// String returns the session in the form that parse reads.
func (s session) String() string {
	var b strings.Builder
	for _, step := range s {
		for _, line := range step.before {
			b.WriteString(line + "\n")
		}
		b.WriteString(step.prompt + " " + strings.ReplaceAll(step.line, "\n", "\n> ") + "\n")
		for _, line := range step.want {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// pattern returns an expression that matches the described lines.
func pattern(lines []string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`^`)
	for _, line := range lines {
		if line == "..." {
			b.WriteString(`(?:[^\n]*\n)*`)
			continue
		}
		b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(strings.TrimRight(line, " ")), "…", `[^\n]*`) + `\n`)
	}
	b.WriteString(`$`)
	return regexp.MustCompile(b.String())
}

// tidy returns an output in the form of sessions.
func tidy(output string) []string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(output, " \n"), "\n") {
		lines = append(lines, strings.TrimRight(line, " \r"))
	}
	if len(lines) == 1 && lines[0] == "" {
		return nil
	}
	return lines
}

// expect compares an output with the expected one, and replaces that with -update.
func (s *step) expect(t *testing.T, output string) {
	t.Helper()
	got := tidy(output)
	text := strings.Join(append(got, ""), "\n")
	if pattern(s.want).MatchString(text) {
		return
	}
	if *rewrite {
		s.want = got
		return
	}
	t.Errorf("%s %s\n%s\nwant:\n%s", s.prompt, s.line, text, strings.Join(s.want, "\n"))
}

// runSession runs a session in a file, with a program as kubectl, on a gateway of its own.
func runSession(t *testing.T, path, kubectl string) {
	t.Helper()
	gw := gatewaytest.Start(t)
	newTerminal(t, kubectl, gw, gw.EtcdEndpoint).play(t, path)
}

// play runs a session in a file, and closes the terminal.
func (term *terminal) play(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	steps := parse(string(text))
	for _, step := range steps {
		term.run(t, step)
	}
	term.close(t)
	if changed := steps.String(); *rewrite && changed != string(text) {
		if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
