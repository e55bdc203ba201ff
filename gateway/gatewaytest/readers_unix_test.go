//go:build unix

package gatewaytest_test

import (
	"bufio"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"revtail/gateway/gatewaytest"
)

// pipe is a stream whose reader can close it.
func pipe(t *testing.T) (reader, writer *os.File) {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = reader.Close(), writer.Close() }) // most are closed already
	return reader, writer
}

// TestClosedReadersDoNotStopTheGateway checks that the gateway serves its watches and its embedded etcd when the readers of the log, the
// audit log and the ready line have gone.
func TestClosedReadersDoNotStopTheGateway(t *testing.T) {
	t.Parallel()
	stdout, out := pipe(t)
	stderr, log := pipe(t)
	cmd := exec.CommandContext(t.Context(), gatewaytest.Binary(t), "serve", "--listen", "127.0.0.1:0", "--embedded-client-url", "http://127.0.0.1:0",
		"--data-dir", filepath.Join(t.TempDir(), "data"), "--audit-log-path", "-", "--log-level", "debug")
	cmd.Stdout, cmd.Stderr = out, log
	if err := errors.Join(cmd.Start(), out.Close(), log.Close()); err != nil {
		t.Fatal(err)
	}
	ready, err := bufio.NewReader(stdout).ReadString('\n')
	url, _, found := strings.Cut(strings.TrimPrefix(ready, "READY http="), " ")
	if err != nil || !found {
		t.Fatalf("ready line %q, %v", ready, err)
	}
	if err := errors.Join(stdout.Close(), stderr.Close()); err != nil {
		t.Fatal(err)
	}
	gatewaytest.Until(t, "a record that cannot be written", func() bool {
		return gatewaytest.Metric(t, url+"/metrics", "revtail_audit_dropped_total") != "0" // each request makes a record, and a line of the log
	})
	answer := (&gatewaytest.Gateway{URL: url}).Do(t, http.MethodGet, configMaps, "")
	if err = errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil || answer.Code != http.StatusOK {
		t.Errorf("%d, and at the end %v", answer.Code, err)
	}
}

// TestReadyLineWithoutReader checks that the gateway serves with a stdout that is never read.
func TestReadyLineWithoutReader(t *testing.T) {
	t.Parallel()
	stdout, out := pipe(t)
	stderr, log := pipe(t)
	cmd := exec.CommandContext(t.Context(), gatewaytest.Binary(t), "serve", "--listen", "127.0.0.1:0", "--embedded-client-url", "http://127.0.0.1:0",
		"--data-dir", filepath.Join(t.TempDir(), "data"))
	cmd.Stdout, cmd.Stderr = out, log
	if err := errors.Join(stdout.Close(), cmd.Start(), out.Close(), log.Close()); err != nil {
		t.Fatal(err)
	}
	told := false
	for lines := bufio.NewScanner(stderr); !told && lines.Scan(); {
		told = strings.Contains(lines.Text(), "the ready line could not be written")
	}
	if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait()); err != nil || !told {
		t.Errorf("told in the log: %v; at the end: %v", told, err)
	}
}
