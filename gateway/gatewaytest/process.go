package gatewaytest

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Patience is the longest wait of a test. Only a failing test takes so long.
const Patience = 60 * time.Second

// Until polls until done returns true, and fails the test after Patience.
func Until(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	for start := time.Now(); !done(); <-time.After(20 * time.Millisecond) {
		if time.Since(start) > Patience {
			tb.Fatalf("%s: not within %v", what, Patience)
		}
	}
}

// process is a program that runs, or has ended.
type process struct {
	name  string
	cmd   *exec.Cmd
	log   string        // the file with its stderr
	out   *lines        // its stdout
	ended chan struct{} // closed when it has ended
}

// launch starts a program. It ends with the test.
func launch(tb testing.TB, name, log string, command ...string) *process {
	tb.Helper()
	stderr, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = stderr.Close() }() // the program has its own descriptor
	p := &process{name: name, log: log, out: newLines(), ended: make(chan struct{})}
	p.cmd = exec.Command(command[0], command[1:]...) //nolint:noctx // tb.Context ends before the cleanups: the program could not end gracefully
	p.cmd.Dir = filepath.Dir(log)
	p.cmd.Stdout, p.cmd.Stderr = p.out, stderr
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "REVTAIL_") && !strings.HasPrefix(variable, "ETCD_") {
			p.cmd.Env = append(p.cmd.Env, variable)
		}
	}
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // the exit code is in cmd
		close(p.ended)
	}()
	tb.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended already
		<-p.ended
		p.judge(tb)
	})
	return p
}

// judge checks the log of a process that has ended.
func (p *process) judge(tb testing.TB) {
	tb.Helper()
	log, err := os.ReadFile(p.log)
	if err != nil {
		tb.Error(err)
	}
	for _, bad := range []string{"WARNING: DATA RACE", "panic while answering", "panic: "} {
		if bytes.Contains(log, []byte(bad)) {
			tb.Errorf("%s: the log has %q", p.name, bad)
		}
	}
	if tb.Failed() {
		const last = 16 << 10
		tb.Logf("%s: %s ends with\n%s", p.name, p.log, log[max(0, len(log)-last):])
	}
}

// Terminate asks the program to end gracefully, with SIGTERM.
func (p *process) Terminate(tb testing.TB) {
	tb.Helper()
	p.signal(tb, syscall.SIGTERM)
}

// Exit waits for the end of the program and returns its exit code; -1: a signal ended it.
func (p *process) Exit(tb testing.TB) int {
	tb.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(Patience):
		tb.Fatalf("%s does not end", p.name)
		return -1
	}
}

// Stop is Terminate and Exit.
func (p *process) Stop(tb testing.TB) int {
	tb.Helper()
	p.Terminate(tb)
	return p.Exit(tb)
}

// Hangup asks the program to read its files again, with SIGHUP.
func (p *process) Hangup(tb testing.TB) {
	tb.Helper()
	p.signal(tb, syscall.SIGHUP)
}

// Kill ends the program as a power cut would, with SIGKILL, and waits for its end.
func (p *process) Kill(tb testing.TB) {
	tb.Helper()
	p.signal(tb, os.Kill)
	p.Exit(tb)
}

func (p *process) signal(tb testing.TB, s os.Signal) {
	tb.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		tb.Fatalf("%s: %v", p.name, err)
	}
}

// PID returns the process ID of the program.
func (p *process) PID() int { return p.cmd.Process.Pid }

// Log returns the stderr of the program, also of its earlier runs.
func (p *process) Log(tb testing.TB) string {
	tb.Helper()
	log, err := os.ReadFile(p.log)
	if err != nil {
		tb.Fatal(err)
	}
	return string(log)
}

// lines collects output and sends the first line to a channel.
type lines struct {
	first chan string // gets the first line

	mu   sync.Mutex // guards the field below
	text []byte
}

var _ io.Writer = (*lines)(nil)

func newLines() *lines { return &lines{first: make(chan string, 1)} }

func (l *lines) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := bytes.IndexByte(l.text, '\n')
	l.text = append(l.text, data...)
	if end := bytes.IndexByte(l.text, '\n'); before < 0 && end >= 0 {
		l.first <- string(l.text[:end])
	}
	return len(data), nil
}
