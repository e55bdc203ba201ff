package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"revtail/gateway/gatewaytest"
)

// patience bounds each wait of a script. Only a failing test takes that long.
const patience = 60 * time.Second

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"revtail": main, "kube-apiserver": main, "etcd": main})
}

// TestScripts runs testdata/*.txtar. Beside testscript's own commands there are these:
//
//	start NAME ARGS...       run revtail in the background, with its output in NAME.out and NAME.err
//	ready NAME               wait for its ready line and set $NAME to its first URL
//	waitfor FILE REGEXP      wait until the file has a line that matches
//	signal NAME SIGNAL       send TERM, INT, HUP or KILL
//	exited NAME CODE         wait for its end
//	watch NAME URL           open a stream in the background
//	watched NAME             wait until it has ended; it must have ended cleanly
//	busy NAME                occupy a port and set $NAME to its address
//	capture NAME FILE REGEXP set $NAME to what the first group of the expression matches in the file
//	exits CODE PROGRAM...    run a program, which must exit with the code; stdout and stderr see its output
//	fetch CODE URL           read a page, which must have the code; stdout sees it
//	until URL REGEXP         read a page again until it matches; stdout sees it
//	supervise VARIABLE...    listen as systemd for the processes started later, with more variables
//	told MESSAGE             wait until one of them has sent the message
//	apply URL JSON           make the ConfigMap of that URL, or change it
//	compact ETCD REVISION    compact the history of the etcd at that URL
//
// The folder of each script has server.crt and server.key, signed by ca.crt, and other.crt and other.key, signed by an unknown
// authority.
func TestScripts(t *testing.T) {
	files := certificates(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Condition: func(condition string) (bool, error) { // [exists:/path]
			path, ok := strings.CutPrefix(condition, "exists:")
			if !ok {
				return false, fmt.Errorf("unknown condition %s", condition)
			}
			_, err := os.Stat(path)
			return err == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"start": scriptStart, "ready": scriptReady, "waitfor": scriptWaitFor, "signal": scriptSignal,
			"exited": scriptExited, "watch": scriptWatch, "watched": scriptWatched, "busy": scriptBusy,
			"capture": scriptCapture, "exits": scriptExits, "apply": scriptApply, "fetch": scriptFetch, "supervise": scriptSupervise, "told": scriptTold, "until": scriptUntil,
			"compact": func(ts *testscript.TestScript, neg bool, args []string) {
				wantArgs(ts, neg, args, 2)
				revision, err := strconv.ParseInt(args[1], 10, 64)
				ts.Check(err)
				gatewaytest.DialEtcd(t, args[0]).Compact(t, revision)
			},
		},
		Setup: func(env *testscript.Env) error {
			env.Values[scriptKey{}] = &script{children: make(map[string]*child), streams: make(map[string]chan error)}
			if tools := os.Getenv("REVTAIL_TOOLS"); tools != "" {
				env.Setenv("PATH", tools+string(filepath.ListSeparator)+env.Getenv("PATH"))
			}
			var errs []error
			for name, content := range files {
				errs = append(errs, os.WriteFile(filepath.Join(env.WorkDir, name), content, 0o600))
			}
			return errors.Join(errs...)
		},
	})
}

func certificates(t *testing.T) map[string][]byte {
	t.Helper()
	authority, unknown := gatewaytest.NewAuthority(t, "authority"), gatewaytest.NewAuthority(t, "unknown")
	server, other := authority.Issue(t, "server"), unknown.Issue(t, "other")
	return map[string][]byte{
		"ca.crt": authority.PEM, "server.crt": server.Cert, "server.key": server.Key, "other.crt": other.Cert, "other.key": other.Key,
	}
}

type scriptKey struct{}

// script has the processes and streams of one script.
type script struct {
	children map[string]*child
	streams  map[string]chan error // each receives the error of its stream
	told     chan string           // the messages for the supervisor; nil: there is none
	environ  []string              // more for processes
}

type child struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process has ended
}

func stateOf(ts *testscript.TestScript) *script { return ts.Value(scriptKey{}).(*script) }

func childOf(ts *testscript.TestScript, name string) *child {
	p, ok := stateOf(ts).children[name]
	if !ok {
		ts.Fatalf("no process %s", name)
	}
	return p
}

func wantArgs(ts *testscript.TestScript, neg bool, args []string, least int) {
	if neg || len(args) < least {
		ts.Fatalf("wrong use of a command: see TestScripts")
	}
}

func scriptStart(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, args, 1)
	name := args[0]
	stdout, err := os.Create(ts.MkAbs(name + ".out"))
	ts.Check(err)
	defer stdout.Close()
	stderr, err := os.Create(ts.MkAbs(name + ".err"))
	ts.Check(err)
	defer stderr.Close()
	cmd := exec.Command("revtail", args[1:]...) //nolint:noctx // the script stops it
	cmd.Dir = ts.MkAbs(".")
	cmd.Stdout, cmd.Stderr = stdout, stderr
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "REVTAIL_") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(append(cmd.Env, "TMPDIR="+ts.Getenv("TMPDIR")), stateOf(ts).environ...)
	ts.Check(cmd.Start())
	p := &child{cmd: cmd, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // "exited" looks at the state
		close(p.ended)
	}()
	stateOf(ts).children[name] = p
	ts.Defer(func() {
		_ = cmd.Process.Kill() // it may have ended already
		<-p.ended
	})
}

func scriptReady(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, args, 1)
	line := waitFor(ts, args[0]+".out", regexp.MustCompile(`(?m)^READY http=([^ ,]+).*$`), childOf(ts, args[0]).ended)
	ts.Setenv(args[0], line[1])
}

func scriptWaitFor(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, args, 2)
	waitFor(ts, args[0], regexp.MustCompile(args[1]), nil)
}

// waitFor reads a file again until it matches. It fails if ended is closed before.
func waitFor(ts *testscript.TestScript, file string, pattern *regexp.Regexp, ended <-chan struct{}) []string {
	deadline := time.After(patience)
	for {
		content := ts.ReadFile(file)
		if match := pattern.FindStringSubmatch(content); match != nil {
			return match
		}
		select {
		case <-ended:
			ts.Fatalf("the process ended; stderr:\n%s", ts.ReadFile(strings.TrimSuffix(file, ".out")+".err"))
		case <-deadline:
			ts.Fatalf("%s never matched %s:\n%s", file, pattern, content)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func scriptSignal(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, args, 2)
	signals := map[string]os.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL}
	ts.Check(childOf(ts, args[0]).cmd.Process.Signal(signals[args[1]]))
}

func scriptExited(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, args, 2)
	p := childOf(ts, args[0])
	select {
	case <-p.ended:
	case <-time.After(patience):
		ts.Fatalf("%s does not end; stderr:\n%s", args[0], ts.ReadFile(args[0]+".err"))
	}
	if got := strconv.Itoa(p.cmd.ProcessState.ExitCode()); got != args[1] {
		ts.Fatalf("exit code %s, want %s; stderr:\n%s", got, args[1], ts.ReadFile(args[0]+".err"))
	}
}

func scriptWatch(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, args, 2)
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, args[1], nil)
	ts.Check(err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	ts.Check(err)
	if resp.StatusCode != http.StatusOK {
		ts.Fatalf("%s: %s", args[1], resp.Status)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, resp.Body)
		ended <- errors.Join(err, resp.Body.Close())
	}()
	stateOf(ts).streams[args[0]] = ended
	ts.Defer(cancel)
}

func scriptWatched(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, args, 1)
	select {
	case err := <-stateOf(ts).streams[args[0]]:
		ts.Check(err)
	case <-time.After(patience):
		ts.Fatalf("stream %s does not end", args[0])
	}
}

func scriptBusy(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, args, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
	ts.Setenv(args[0], l.Addr().String())
}

func scriptCapture(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, args, 3)
	ts.Setenv(args[0], waitFor(ts, args[1], regexp.MustCompile(args[2]), nil)[1])
}

func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, args, 2)
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		code = failed.ExitCode()
	} else {
		ts.Check(err)
	}
	if got := strconv.Itoa(code); got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

func scriptApply(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, args, 2)
	body := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},%s`, path.Base(args[0]), strings.TrimPrefix(args[1], "{"))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPatch, args[0]+"?fieldManager=script&force=true", strings.NewReader(body))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/apply-patch+yaml")
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	ts.Check(err)
	defer func() { _ = resp.Body.Close() }()
	if answer, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode >= 300 {
		ts.Fatalf("%s: %s %s (%v)", args[0], resp.Status, answer, err)
	}
}

func scriptFetch(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, args, 2)
	code, page := fetch(ts, args[1])
	show(ts, page)
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("%s: %d, want %s", args[1], code, args[0])
	}
}

func scriptUntil(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, args, 2)
	pattern, deadline := regexp.MustCompile(args[1]), time.After(patience)
	for {
		_, page := fetch(ts, args[0])
		if pattern.MatchString(page) {
			show(ts, page)
			return
		}
		select {
		case <-deadline:
			ts.Fatalf("%s never matched %s:\n%s", args[0], pattern, page)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// show writes a page to the stdout of the script.
func show(ts *testscript.TestScript, page string) {
	_, err := io.WriteString(ts.Stdout(), page)
	ts.Check(err)
}

// fetch reads a page.
func fetch(ts *testscript.TestScript, url string) (code int, page string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	ts.Check(err)
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	ts.Check(err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	ts.Check(err)
	return resp.StatusCode, string(text)
}

func scriptSupervise(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, args, 0)
	socket := ts.MkAbs("notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	ts.Check(err)
	ts.Defer(func() { _ = conn.Close() })
	told := make(chan string, 1<<16) // more than a script sends
	go func() {                      // reads on, because a process waits for a full socket; ends with the script
		for text := make([]byte, 256); ; {
			n, err := conn.Read(text)
			if err != nil {
				close(told)
				return
			}
			told <- string(text[:n])
		}
	}()
	stateOf(ts).told, stateOf(ts).environ = told, append(args, "NOTIFY_SOCKET="+socket)
}

func scriptTold(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, args, 1)
	for deadline := time.After(patience); ; {
		select {
		case text, open := <-stateOf(ts).told:
			if text == args[0] {
				return
			}
			if !open {
				ts.Fatalf("no message %s", args[0])
			}
		case <-deadline:
			ts.Fatalf("no message %s", args[0])
		}
	}
}
