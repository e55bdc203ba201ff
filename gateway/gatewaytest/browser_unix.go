//go:build unix

package gatewaytest

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// browser is a running browser, which speaks the DevTools protocol over a pipe. The tests that run at the same time share one, because its
// start takes seconds of processor time.
type browser struct {
	cmd     *exec.Cmd
	profile string // its folder
	to      *os.File
	from    *os.File
	ended   chan struct{} // closed when the browser has ended
	users   int           // tests that have a page; sharedBrowser.mu guards it

	mu       sync.Mutex // guards the fields below
	last     int        // number of the last call
	waiting  map[int]chan message
	messages map[string][]string // errors of the pages, by session
}

// message is a message of the DevTools protocol, in either direction.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// sharedBrowser is the browser that useBrowser returns.
var sharedBrowser struct {
	mu      sync.Mutex
	running *browser // nil: none
}

// withBrowser is given by make console. The tests in a browser take minutes, and the race detector sees nothing of the browser.
var withBrowser = flag.Bool("browser", false, "run the tests that need a browser")

// NeedBrowser returns the path of Chromium. Without -browser the test is skipped; without Chromium too, but under CI it fails then,
// because CI installs it.
func NeedBrowser(tb testing.TB) string {
	tb.Helper()
	if !*withBrowser {
		tb.Skip("make console runs this test, which needs a browser")
	}
	for _, name := range []string{"google-chrome", "chromium", "chromium-browser"} { // Ubuntu's chromium-browser only starts a snap
		if browser, err := exec.LookPath(name); err == nil {
			return browser
		}
	}
	const missing = "there is no Chromium: install Debian's package chromium for this test"
	if os.Getenv("CI") == "true" {
		tb.Fatal(missing)
	}
	tb.Skip(missing)
	return ""
}

// useBrowser returns the running browser, or starts one. It ends with the last test that uses it.
func useBrowser(tb testing.TB) *browser {
	tb.Helper()
	path := NeedBrowser(tb)
	sharedBrowser.mu.Lock()
	defer sharedBrowser.mu.Unlock()
	if sharedBrowser.running == nil || sharedBrowser.running.hasEnded() {
		started, err := startBrowser(path)
		if err != nil {
			tb.Fatal(err)
		}
		sharedBrowser.running = started
	}
	b := sharedBrowser.running
	b.users++
	tb.Cleanup(b.release)
	return b
}

// release ends a browser without users.
func (b *browser) release() {
	sharedBrowser.mu.Lock()
	defer sharedBrowser.mu.Unlock()
	if b.users--; b.users > 0 {
		return
	}
	if sharedBrowser.running == b {
		sharedBrowser.running = nil
	}
	b.stop()
}

// hasEnded reports whether the browser has ended by itself, so that its tests fail.
func (b *browser) hasEnded() bool {
	select {
	case <-b.ended:
		return true
	default:
		return false
	}
}

func startBrowser(path string) (*browser, error) {
	profile, err := os.MkdirTemp("", "revtail-browser-")
	if err != nil {
		return nil, err
	}
	commands, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	from, answers, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars=false", //nolint:noctx // it outlives the test that starts it
		"--user-data-dir="+profile, "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{commands, answers} // its descriptors 3 and 4
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	_, _ = commands.Close(), answers.Close() // the browser has its own descriptors
	b := &browser{cmd: cmd, profile: profile, to: to, from: from, ended: make(chan struct{}), waiting: make(map[int]chan message), messages: make(map[string][]string)}
	go b.read()
	return b, nil
}

// stop kills the browser, with all of its processes, and removes its profile.
func (b *browser) stop() {
	_ = syscall.Kill(-b.cmd.Process.Pid, syscall.SIGKILL)
	_ = b.cmd.Wait() // it was killed
	<-b.ended
	_, _, _ = b.to.Close(), b.from.Close(), os.RemoveAll(b.profile)
}

// read passes responses to the waiting calls, until the browser ends.
func (b *browser) read() {
	defer close(b.ended)
	in := bufio.NewReader(b.from)
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(text[:len(text)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		waiter := b.waiting[m.ID]
		delete(b.waiting, m.ID)
		if m.Method == "Runtime.exceptionThrown" || m.Method == "Log.entryAdded" {
			b.messages[m.Session] = append(b.messages[m.Session], string(m.Params))
		}
		b.mu.Unlock()
		if waiter != nil {
			waiter <- m
		}
	}
}

// send makes one call of the DevTools protocol, with params unless they are nil, and decodes its result. The error is that of the browser.
func (b *browser) send(tb testing.TB, m message, params, result any) error {
	tb.Helper()
	if params != nil {
		given, err := json.Marshal(params)
		if err != nil {
			tb.Fatal(err)
		}
		m.Params = given
	}
	answer := make(chan message, 1)
	b.mu.Lock()
	b.last++
	m.ID = b.last
	b.waiting[m.ID] = answer
	text, err := json.Marshal(m)
	if err == nil {
		_, err = b.to.Write(append(text, 0))
	}
	b.mu.Unlock()
	if err != nil {
		tb.Fatalf("%s: %v", m.Method, err)
	}
	select {
	case m = <-answer:
	case <-b.ended:
		tb.Fatalf("%s: the browser has ended", m.Method)
	case <-time.After(Patience):
		tb.Fatalf("%s: no answer from the browser", m.Method)
	}
	if m.Error != nil {
		return errors.New(m.Error.Message)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(m.Result, result)
}
