package clients

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

const (
	readme         = "../../../README.md"
	tlsDocument    = "../../../deploy/TLS.md"
	accessDocument = "../../../deploy/ACCESS.md"
	encryption     = "../../../deploy/ENCRYPTION.md"
)

// runBlocks runs the commands of blocks. Events in JSON must be shown by the end, and a file in YAML gets the name.
func (r *reader) runBlocks(t *testing.T, blocks []gatewaytest.Block, yaml string) {
	t.Helper()
	for _, block := range blocks {
		if block.Language == "yaml" {
			if err := os.WriteFile(filepath.Join(r.folder, yaml), []byte(block.Text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, block := range blocks {
		switch block.Language {
		case "console":
			for _, step := range block.Steps() {
				r.run(t, step)
			}
		case "json":
			r.expect(t, block.Text)
		}
	}
}

// TestREADME runs the commands of the README unchanged, from `make build` on. A script replaces make, which takes minutes the first time,
// and installs the program of the tests.
func TestREADME(t *testing.T) {
	gatewaytest.InOwnNetwork(t, func(t *testing.T) {
		r := newReader(t, t.TempDir())
		bin := filepath.Join(r.trap.Home, "bin")
		script := fmt.Sprintf("#!/bin/sh -e\n[ \"$*\" = build ]\nmkdir bin\nln -s %s bin/revtail\n", gatewaytest.Binary(t))
		err := errors.Join(
			os.Remove(filepath.Join(bin, "revtail")),
			os.WriteFile(filepath.Join(bin, "make"), []byte(script), 0o700)) //nolint:gosec // a program
		if err != nil {
			t.Fatal(err)
		}
		for _, title := range []string{"Start", "Three minutes with curl", "With kubectl"} {
			r.runBlocks(t, section(t, readme, title), "")
		}
		if _, err := os.Stat(filepath.Join(r.folder, "revtail.etcd")); err != nil {
			t.Errorf("the data is not in the folder that the README names: %v", err)
		}
	})
}

// TestOwnEtcd runs the command of the README for an etcd of the reader.
func TestOwnEtcd(t *testing.T) {
	gatewaytest.InOwnNetwork(t, func(t *testing.T) {
		r := newReader(t, t.TempDir())
		const etcd = "http://127.0.0.1:2379"
		startFollower(t, exec.CommandContext(t.Context(), gatewaytest.Tool(t, "etcd"), "--data-dir", filepath.Join(r.folder, "data"),
			"--listen-client-urls", etcd, "--advertise-client-urls", etcd, "--listen-peer-urls", "http://127.0.0.1:2380"))
		gatewaytest.Until(t, "etcd listens", func() bool {
			conn, err := net.Dial("tcp", strings.TrimPrefix(etcd, "http://")) //nolint:noctx // loopback answers at once
			return err == nil && conn.Close() == nil
		})
		r.runBlocks(t, section(t, readme, "Your own etcd"), "")
	})
}

// TestTLSDocument makes the certificates of the document, and uses them for a server and clients.
func TestTLSDocument(t *testing.T) {
	gatewaytest.InOwnNetwork(t, func(t *testing.T) {
		r := newReader(t, t.TempDir())
		installed(t, "openssl", "openssl")
		for _, title := range []string{"Certificates", "The server", "Clients"} {
			r.runBlocks(t, section(t, tlsDocument, title), "")
		}
	})
}

// TestAccessDocument authenticates with a token under the policy of the document.
func TestAccessDocument(t *testing.T) {
	gatewaytest.InOwnNetwork(t, func(t *testing.T) {
		r := newReader(t, t.TempDir())
		installed(t, "openssl", "openssl")
		r.runBlocks(t, section(t, tlsDocument, "Certificates"), "")
		r.runBlocks(t, append(section(t, accessDocument, "Policies"), section(t, accessDocument, "Authentication")...), "policy.yaml")
		r.do(t, gatewaytest.Step{Command: `curl --cacert ca.crt -H "Authorization: Bearer $token" https://localhost:8443/api/v1/namespaces/us/configmaps`,
			Output: `  "reason": "Forbidden",`})
	})
}

// TestEncryptionDocument encrypts a Secret and a key, and rotates their key. Without the old key everything is read after a restart.
func TestEncryptionDocument(t *testing.T) {
	gatewaytest.InOwnNetwork(t, func(t *testing.T) {
		r := newReader(t, t.TempDir())
		installed(t, "jq", "jq")
		for _, title := range []string{"Set up", "Encrypt what is there", "Rotate a key"} {
			r.runBlocks(t, section(t, encryption, title), "encryption.yaml")
		}
		content, err := os.ReadFile(filepath.Join(r.folder, "encryption.yaml"))
		if err != nil || strings.Contains(string(content), "key1") || !strings.Contains(string(content), "key2") {
			t.Fatalf("the file is not that of a rotation: %v\n%s", err, content)
		}
		restarted := gatewaytest.Start(t, "--etcd-endpoints", "http://127.0.0.1:2379", "--encryption-provider-config", filepath.Join(r.folder, "encryption.yaml"),
			"--encryption-keys", "/app/secret/")
		if secret := restarted.Get(t, "/api/v1/namespaces/default/secrets/password"); secret.Data["word"] != "c3dvcmRmaXNo" {
			t.Errorf("the Secret is %+v", secret)
		}
		if key := restarted.Do(t, "GET", "/v1/keys/app/secret/password", ""); !strings.Contains(key.Body, "swordfish") {
			t.Errorf("the key is %d %s", key.Code, key.Body)
		}
	})
}

// TestTracesDocument starts the server that sends traces.
func TestTracesDocument(t *testing.T) {
	gatewaytest.InOwnNetwork(t, func(t *testing.T) {
		r := newReader(t, t.TempDir())
		for _, block := range section(t, "../../../deploy/OBSERVABILITY.md", "Traces") {
			for _, step := range block.Steps() {
				step.Output = "READY …"
				r.run(t, step)
			}
		}
	})
}
