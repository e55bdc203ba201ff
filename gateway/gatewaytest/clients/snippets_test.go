package clients

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"revtail/gateway/gatewaytest"
)

// follower is a program in any language. It is killed with its children when the test ends.
type follower struct {
	stdin io.Writer
	lines chan string // what it prints; closed when it has ended
}

func startFollower(t *testing.T, cmd *exec.Cmd) *follower {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &follower{stdin: stdin, lines: make(chan string, 10_000)}
	go func() {
		defer close(s.lines)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			s.lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended already
		for range s.lines {                                 // because Wait must come after the last read
		}
		_ = cmd.Wait() // it was killed
		if t.Failed() {
			t.Logf("stderr of %v:\n%s", cmd, stderr.String())
		}
	})
	return s
}

// next waits for the next line.
func (s *follower) next(t *testing.T) string {
	t.Helper()
	select {
	case line, ok := <-s.lines:
		if !ok {
			t.Fatal("the program has ended")
		}
		return line
	case <-time.After(gatewaytest.Patience):
		t.Fatal("the program prints nothing more")
	}
	return ""
}

// clientsDocument is the document with the snippets.
const clientsDocument = "../../../deploy/CLIENTS.md"

var snippet = regexp.MustCompile("(?ms)^\\*\\*(\\w+)\\*\\*.*?^```\\w+\n(.*?)^```$")

// snippets returns the programs of the section "Programs that resume", by the bold word before each.
func snippets(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(clientsDocument)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Programs that resume\n")
	section, _, _ = strings.Cut(section, "\n## ")
	programs := make(map[string]string)
	for _, match := range snippet.FindAllStringSubmatch(section, -1) {
		programs[match[1]] = match[2]
	}
	if fences := strings.Count(section, "\n```"); fences != 2*len(programs) {
		t.Fatalf("%d programs between %d fences: a block of the section has no name", len(programs), fences)
	}
	return programs
}

// endless are the snippets that do not end.
var endless = map[string]struct {
	run   func(t *testing.T, code string) *exec.Cmd
	event func(line string) string // "TYPE NAME"; empty: the line is not an event
	state []string                 // expected output for a and b at the start
	again []string                 // and for c and d after a new list, when a is gone
}{
	"curl":       {run: runBash, event: curlEvent, state: []string{"LISTED a", "LISTED b"}, again: []string{"LISTED c", "LISTED d"}},
	"Go":         {run: runGo, event: informerEvent, state: []string{"ADDED a", "ADDED b"}, again: []string{"ADDED d", "DELETED a", "MODIFIED c"}},
	"Python":     {run: runPython, event: plainEvent, state: []string{"LISTED a", "LISTED b"}, again: []string{"LISTED c", "LISTED d"}},
	"JavaScript": {run: runNode, event: plainEvent, state: []string{"LISTED a", "LISTED b"}, again: []string{"LISTED c", "LISTED d"}},
}

// TestSnippets checks that each program of the document works unchanged, over a restart of the gateway and a compaction too.
func TestSnippets(t *testing.T) {
	t.Parallel()
	for name, code := range snippets(t) {
		if name == "kubectl" {
			continue // TestKubectlSnippet runs it
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			language, ok := endless[name]
			if !ok {
				t.Fatal("no test runs it")
			}
			etcd := gatewaytest.StartEtcd(t, 1)
			gw := gatewaytest.Start(t, "--etcd-endpoints", etcd.Endpoints())
			code = strings.ReplaceAll(code, "http://127.0.0.1:8080", gw.URL)
			keys := gatewaytest.DialEtcd(t, etcd.Endpoints())
			put := func(name, value string) {
				keys.Put(t, keyOf(name), gatewaytest.ConfigMap(name, value))
			}
			remove := func(name string) { keys.Delete(t, keyOf(name)) }
			put("a", "1")
			put("b", "1")
			cmd := language.run(t, code)
			cmd.Env = gatewaytest.NewTrap(t).Env()
			s := startFollower(t, cmd)
			s.expectState(t, language.event, language.state)
			put("a", "2")
			s.expect(t, language.event, "MODIFIED a")

			gw.Stop(t)
			put("c", "1")
			put("a", "3")
			remove("b")
			gw.Restart(t)
			s.expect(t, language.event, "ADDED c", "MODIFIED a", "DELETED b")

			gw.Stop(t)
			remove("a")
			put("d", "1")
			keys.Compact(t, keys.Revision(t))
			gw.Restart(t)
			s.expectState(t, language.event, language.again)
			put("d", "2")
			s.expect(t, language.event, "MODIFIED d")
		})
	}
}

// events returns the next n events.
func (s *follower) events(t *testing.T, event func(string) string, n int) []string {
	t.Helper()
	var got []string
	for len(got) < n {
		if e := event(s.next(t)); e != "" {
			got = append(got, e)
		}
	}
	return got
}

// expect waits for the next expected events.
func (s *follower) expect(t *testing.T, event func(string) string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, s.events(t, event, len(want))); diff != "" {
		t.Fatalf("output (-want +got):\n%s", diff)
	}
}

// expectState waits for the next expected events, in any order.
func (s *follower) expectState(t *testing.T, event func(string) string, want []string) {
	t.Helper()
	got := s.events(t, event, len(want))
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("output (-want +got):\n%s", diff)
	}
}

func plainEvent(line string) string { return line }

func informerEvent(line string) string { return strings.Replace(line, " default/", " ", 1) }

var nameLine = regexp.MustCompile(`^ +"name": "(\w+)",?$`)

// curlEvent reads the lines of a watch, and those of a list, which curl gets indented.
func curlEvent(line string) string {
	if match := nameLine.FindStringSubmatch(line); match != nil {
		return "LISTED " + match[1]
	}
	var event gatewaytest.Event
	if json.Unmarshal([]byte(line), &event) != nil || event.Object.Metadata.Name == "" {
		return ""
	}
	return event.Type + " " + event.Object.Metadata.Name
}

// save writes a snippet to a file.
func save(t *testing.T, name, code string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// installed returns the path of a program of a Debian package.
func installed(t *testing.T, name, debian string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%v: it is in Debian's %s", err, debian)
	}
	return path
}

func runBash(t *testing.T, code string) *exec.Cmd {
	t.Helper()
	installed(t, "curl", "curl")
	return exec.CommandContext(t.Context(), installed(t, "bash", "bash"), save(t, "snippet.sh", code))
}

func runNode(t *testing.T, code string) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(t.Context(), installed(t, "node", "nodejs"), save(t, "snippet.mjs", code))
}

func runPython(t *testing.T, code string) *exec.Cmd {
	t.Helper()
	return pythonCommand(t, save(t, "snippet.py", code))
}

// runGo builds with the dependencies of this module, in a working folder of its own.
func runGo(t *testing.T, code string) *exec.Cmd {
	t.Helper()
	source := save(t, "main.go", code)
	program := filepath.Join(filepath.Dir(source), "snippet")
	for _, args := range [][]string{{"vet", source}, {"build", "-o", program, source}} {
		if output, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, output)
		}
	}
	return exec.CommandContext(t.Context(), program)
}

// tableEvent reads a row of kubectl's output.
func tableEvent(line string) string {
	columns := strings.Fields(line)
	if len(columns) < 2 || columns[0] == "EVENT" {
		return ""
	}
	return columns[0] + " " + columns[1]
}
