package clients

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestMounts runs the session in testdata/kubectl-mounts: kubectl on keys that etcdctl writes. Its home has the configuration of the
// gateway, which the session changes.
func TestMounts(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "revtail.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: revtail/v1\nmounts:\n"+
		"- {prefix: /app/config/, group: app.example.com, kind: Setting, plural: settings}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	gw := gatewaytest.Start(t, "--config", file)
	term := newTerminal(t, gatewaytest.Tool(t, "kubectl"), gw, gw.EtcdEndpoint)
	etcdctl := fmt.Sprintf("#!/bin/sh\nexec %s --endpoints %s \"$@\"\n", gatewaytest.Tool(t, "etcdctl"), gw.EtcdEndpoint)
	err := errors.Join(
		os.WriteFile(filepath.Join(term.home, "bin", "etcdctl"), []byte(etcdctl), 0o700), //nolint:gosec // a program
		os.Symlink(file, filepath.Join(term.home, "revtail.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	term.play(t, "testdata/kubectl-mounts/mounts.txt")
}
