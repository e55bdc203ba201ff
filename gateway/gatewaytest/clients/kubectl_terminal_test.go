package clients

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/util/jsonpath"

	"revtail/gateway/gatewaytest"
)

// terminal runs the steps of a session: it has a home folder, and the programs that run in the background.
type terminal struct {
	gw       *gatewaytest.Gateway
	etcd     *gatewaytest.Keys
	home     string
	programs map[string]*program
}

// newTerminal makes a home with the manifests of the sessions, and a kubeconfig for a gateway and its etcd.
func newTerminal(t *testing.T, kubectl string, gw *gatewaytest.Gateway, etcd string) *terminal {
	t.Helper()
	term := &terminal{gw: gw, etcd: gatewaytest.DialEtcd(t, etcd), home: t.TempDir(), programs: map[string]*program{}}
	err := errors.Join(
		os.CopyFS(term.home, os.DirFS("testdata/kubectl/home")),
		os.MkdirAll(filepath.Join(term.home, "bin"), 0o700),
		os.Symlink(kubectl, filepath.Join(term.home, "bin", "kubectl")),
		os.MkdirAll(filepath.Join(term.home, ".kube"), 0o700),
		os.Symlink(gatewaytest.WriteKubeconfig(t, gw), filepath.Join(term.home, ".kube", "config")))
	if err != nil {
		t.Fatal(err)
	}
	return term
}

// run executes a step.
func (term *terminal) run(t *testing.T, s *step) {
	t.Helper()
	switch s.prompt {
	case "$":
		s.expect(t, term.shell(t, s.line))
	case "=":
		s.expect(t, term.stored(t, s.line))
	case "&":
		name, line, _ := strings.Cut(s.line, " ")
		term.programs[name] = term.start(t, line)
	case "~":
		metric, value, _ := strings.Cut(s.line, " ")
		gatewaytest.Until(t, s.line, func() bool { return gatewaytest.Metric(t, term.gw.URL+"/metrics", metric) == value })
	default:
		name := strings.TrimSuffix(s.prompt, ">")
		line := term.programs[name].next(t)
		if want := []string{s.line}; !pattern(want).MatchString(line + "\n") {
			t.Errorf("%s> %s\nwant:\n%s", name, line, s.line)
		}
	}
}

// command returns a command line for sh, in the home folder.
func (term *terminal) command(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	cmd.Dir = term.home
	cmd.Env = []string{"HOME=" + term.home, "PATH=" + filepath.Join(term.home, "bin") + ":/usr/bin:/bin", "SERVER=" + term.gw.URL}
	cmd.WaitDelay = time.Second // because processes of the shell may keep its pipes open
	return cmd
}

// shell runs a command line to its end.
func (term *terminal) shell(t *testing.T, line string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), gatewaytest.Patience)
	defer cancel()
	cmd := term.command(ctx, line)
	output, _ := cmd.CombinedOutput() // the exit code is in cmd
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		output = fmt.Appendf(output, "(exit %d)", code)
	}
	return string(output)
}

// stored applies a template to the value of a key, both given in one line.
func (term *terminal) stored(t *testing.T, line string) string {
	t.Helper()
	key, text, _ := strings.Cut(line, " ")
	value, _ := term.etcd.Get(t, "/registry/"+key)
	if value == "" {
		return "(absent)"
	}
	var object any
	var out bytes.Buffer
	template := jsonpath.New(key).AllowMissingKeys(true)
	err := errors.Join(json.Unmarshal([]byte(value), &object), template.Parse(text))
	if err == nil {
		err = template.Execute(&out, object)
	}
	if err != nil {
		t.Fatalf("%s in %s: %v", line, value, err)
	}
	return out.String()
}

// program is a program in the background.
type program struct {
	line  string
	lines chan string // its output, and at its end "(exit N)"
	stop  context.CancelFunc
}

// start starts a program. close ends it.
func (term *terminal) start(t *testing.T, line string) *program {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cmd := term.command(ctx, "exec "+line)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &program{line: line, lines: make(chan string, 1000), stop: cancel}
	go func() {
		defer close(p.lines)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			p.lines <- strings.TrimRight(scanner.Text(), " ")
		}
		_ = cmd.Wait() // the exit code is in cmd
		p.lines <- fmt.Sprintf("(exit %d)", cmd.ProcessState.ExitCode())
	}()
	return p
}

// next waits for the next line that the program writes.
func (p *program) next(t *testing.T) string {
	t.Helper()
	select {
	case line, open := <-p.lines:
		if !open {
			t.Fatalf("%s: has ended", p.line)
		}
		return line
	case <-time.After(gatewaytest.Patience):
		t.Fatalf("%s: no further line", p.line)
		return ""
	}
}

// close ends the programs. Lines that the session does not mention are an error.
func (term *terminal) close(t *testing.T) {
	t.Helper()
	for _, p := range term.programs {
		p.stop()
		for line := range p.lines {
			if line != "(exit -1)" { // it was killed
				t.Errorf("%s: an unexpected line: %s", p.line, line)
			}
		}
	}
}
