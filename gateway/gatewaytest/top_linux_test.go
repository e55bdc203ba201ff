package gatewaytest_test

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"revtail/gateway/gatewaytest"
)

// terminal is a pseudoterminal with a program on it.
type terminal struct {
	master, slave *os.File
	cmd           *exec.Cmd

	mu  sync.Mutex // guards the field below
	out []byte
}

// openTerminal runs a program on a terminal of a size.
func openTerminal(t *testing.T, rows, columns uint16, environ []string, program string, args ...string) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = slave.Close() })
	x := &terminal{master: master, slave: slave}
	x.resize(t, rows, columns)
	x.cmd = exec.CommandContext(t.Context(), program, args...)
	x.cmd.Stdin, x.cmd.Stdout, x.cmd.Stderr = slave, slave, slave
	x.cmd.Env = append(withoutOptions(), append([]string{"TERM=xterm"}, environ...)...)
	x.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { // ends when the test closes the terminal
		for buffer := make([]byte, 64<<10); ; {
			n, err := master.Read(buffer)
			x.mu.Lock()
			x.out = append(x.out, buffer[:n]...)
			x.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return x
}

func (x *terminal) resize(t *testing.T, rows, columns uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(x.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}); err != nil {
		t.Fatal(err)
	}
}

func (x *terminal) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := x.master.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// output returns everything that was written to the terminal.
func (x *terminal) output() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return string(x.out)
}

// until waits until the last complete display satisfies a condition.
func (x *terminal) until(t *testing.T, what string, is func(lines []string) bool) {
	t.Helper()
	gatewaytest.Until(t, what, func() bool {
		displays := strings.Split(x.output(), "\x1b[H")
		if len(displays) < 3 {
			return false
		}
		return is(strings.Split(plain(displays[len(displays)-2]), "\r\n"))
	})
}

// plain removes the sequences that begin with ESC [.
func plain(text string) string {
	var out bytes.Buffer
	for {
		before, after, found := strings.Cut(text, "\x1b[")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		text = strings.TrimLeft(after, "?0123456789;")
		text = text[min(1, len(text)):]
	}
}

// echoes reports whether the terminal is in its usual mode.
func (x *terminal) echoes(t *testing.T) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(x.slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0 && state.Lflag&unix.ICANON != 0
}

func has(lines []string, text string) bool { return strings.Contains(strings.Join(lines, "\n"), text) }

// TestTop checks the display of revtail top: its views, narrow and small terminals, and that the terminal is as before at every end.
func TestTop(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	gw.Watch(t, configMaps+"?watch=1")
	for name, tt := range map[string]struct {
		environ []string
		end     func(x *terminal)
	}{
		"q":       {nil, func(x *terminal) { x.press(t, "q") }},
		"Ctrl-C":  {[]string{"NO_COLOR=1"}, func(x *terminal) { x.press(t, "\x03") }},
		"SIGTERM": {nil, func(x *terminal) { _ = x.cmd.Process.Signal(syscall.SIGTERM) }},
	} {
		x := openTerminal(t, 24, 80, tt.environ, gatewaytest.Binary(t), "top", "--server", gw.URL, "--interval", "100ms")
		x.until(t, "the watches", func(lines []string) bool { return has(lines, "127.0.0.1  configmaps        1") && has(lines, "q quit") })
		if x.echoes(t) {
			t.Errorf("%s: the terminal echoes keys", name)
		}
		x.press(t, "4")
		x.until(t, "the caches", func(lines []string) bool { return has(lines, "cronjobs.batch") && has(lines, "1-") })
		x.press(t, "jjG")
		x.until(t, "the last cache", func(lines []string) bool { return has(lines, "statefulsets.apps") && !has(lines, "cronjobs.batch") })
		x.press(t, "\x1b[D\x1b[D")
		x.until(t, "the users", func(lines []string) bool { return has(lines, "REFUSED/S  LAST REFUSAL") })
		x.resize(t, 10, 40)
		x.until(t, "a small display", func(lines []string) bool {
			for _, line := range lines {
				if utf8.RuneCountInString(line) > 40 {
					return false
				}
			}
			return len(lines) <= 10 && has(lines, "q quit")
		})
		tt.end(x)
		if err := x.cmd.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		gatewaytest.Until(t, name+": the end of the alternate screen", func() bool { return strings.HasSuffix(x.output(), "\x1b[?25h\x1b[?1049l") })
		out := x.output()
		if !strings.HasPrefix(out, "\x1b[?1049h") || !x.echoes(t) {
			t.Errorf("%s: the terminal is not as before; the output begins with %.20q", name, out)
		}
		if colored := strings.Contains(out, "\x1b[1m"); colored != (tt.environ == nil) {
			t.Errorf("%s: colours: %v", name, colored)
		}
	}
}
