//go:build unix

package gatewaytest_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestBlockedAuditReaderDelaysNoRequest checks that a reader of the audit log that reads nothing loses records, and delays no request.
func TestBlockedAuditReaderDelaysNoRequest(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "audit.pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0) // reads nothing
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	gw := gatewaytest.Start(t, "--audit-log-path", pipe, "--log-level", "info")
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for range 6000 { // more than the pipe and the queue can hold
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, gw.URL+"/version", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s, %v", resp.Status, err)
		}
	}
	if dropped := gatewaytest.Metric(t, gw.URL+"/metrics", "revtail_audit_dropped_total"); dropped == "" || dropped == "0" {
		t.Errorf("revtail_audit_dropped_total is %q: nothing was dropped, so the reader has not blocked", dropped)
	}
	if code := gw.Stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
