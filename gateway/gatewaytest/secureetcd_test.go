package gatewaytest_test

import (
	"bytes"
	"errors"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

const password = "canary-7361"

// TestSecureEtcd checks that watches continue when the authorities, and with them the certificates, of etcd and of the gateway are replaced
// while the gateway runs.
func TestSecureEtcd(t *testing.T) {
	t.Parallel()
	etcd := gatewaytest.StartSecureEtcd(t)
	cert, key := etcd.WritePair(t, "gateway", etcd.Clients.Issue(t, "gateway"))
	gw := gatewaytest.Start(t, "--etcd-endpoints", etcd.Endpoint, "--etcd-cacert", etcd.CA, "--etcd-cert", cert, "--etcd-key", key)
	watch := gw.Watch(t, configMaps+"?watch=1")
	gw.Create(t, configMaps, gatewaytest.ConfigMap("before", ""))
	wantEvent(t, watch, "before")

	etcd.Kill(t)
	etcd.Renew(t, gatewaytest.NewAuthority(t, "other servers"))
	etcd.Trust(t, gatewaytest.NewAuthority(t, "other clients"))
	etcd.WritePair(t, "gateway", etcd.Clients.Issue(t, "gateway"))
	etcd.Restart(t)
	createSoon(t, gw, "after")
	wantEvent(t, watch, "after")
}

// TestEtcdLogin uses a user with only the rights that the gateway needs, and an etcd that loses its sessions.
func TestEtcdLogin(t *testing.T) {
	t.Parallel()
	etcd := gatewaytest.StartSecureEtcd(t)
	etcd.EnableLogin(t, "revtail", password, "/registry/", "revtail/")
	cert, key := etcd.WritePair(t, "gateway", etcd.Clients.Issue(t, "no-user"))
	gw := gatewaytest.Start(t, "--etcd-endpoints", etcd.Endpoint, "--etcd-cacert", etcd.CA, "--etcd-cert", cert, "--etcd-key", key,
		"--etcd-user", "revtail", "--etcd-password-file", secretFile(t, password+"\n"), "--history", "1h")
	watch := gw.Watch(t, configMaps+"?watch=1")
	gw.Create(t, configMaps, gatewaytest.ConfigMap("before", ""))
	wantEvent(t, watch, "before")

	etcd.Kill(t)
	etcd.Restart(t)
	createSoon(t, gw, "after")
	wantEvent(t, watch, "after")
	if log := gw.Log(t); strings.Contains(log, password) {
		t.Error("the log has the password")
	}
}

// TestLoginIsDemanded checks that writes get a temporary error while etcd requires a login that the gateway does not have.
func TestLoginIsDemanded(t *testing.T) {
	t.Parallel()
	etcd := gatewaytest.StartSecureEtcd(t)
	cert, key := etcd.WritePair(t, "gateway", etcd.Clients.Issue(t, "no-user"))
	gw := gatewaytest.Start(t, "--etcd-endpoints", etcd.Endpoint, "--etcd-cacert", etcd.CA, "--etcd-cert", cert, "--etcd-key", key)
	gw.Create(t, configMaps, gatewaytest.ConfigMap("before", ""))
	etcd.EnableLogin(t, "revtail", password, "/registry/", "revtail/")
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		answer := gw.Do(t, method, configMaps, gatewaytest.ConfigMap("after", ""))
		if answer.Code != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" || !strings.Contains(answer.Body, "--etcd-user") {
			t.Errorf("%s: %d %s", method, answer.Code, answer.Body)
		}
	}
	if answer := gw.Do(t, http.MethodGet, configMaps+"/before?resourceVersion=0", ""); answer.Code != http.StatusOK {
		t.Errorf("from memory: %d %s", answer.Code, answer.Body)
	}
}

// TestEtcdPasswordChanges checks that a password can be changed, first in the file and then in etcd, without a restart, a broken watch or a
// failed write, and that an empty file changes nothing.
func TestEtcdPasswordChanges(t *testing.T) {
	t.Parallel()
	etcd := gatewaytest.StartSecureEtcd(t)
	etcd.EnableLogin(t, "revtail", password, "/registry/", "revtail/")
	cert, key := etcd.WritePair(t, "gateway", etcd.Clients.Issue(t, "no-user"))
	file := secretFile(t, password)
	gw := gatewaytest.Start(t, "--etcd-endpoints", etcd.Endpoint, "--etcd-cacert", etcd.CA, "--etcd-cert", cert, "--etcd-key", key,
		"--etcd-user", "revtail", "--etcd-password-file", file)
	watch := gw.Watch(t, configMaps+"?watch=1")
	said := func(what string) func() bool {
		return func() bool { return strings.Contains(gw.Log(t), what) }
	}

	replaceFile(t, file, []byte("\n"))
	gw.Hangup(t)
	gatewaytest.Until(t, "a word about the empty file", said("this file is empty"))
	etcd.Kill(t)
	etcd.Restart(t) // it has lost its sessions
	createSoon(t, gw, "kept")
	wantEvent(t, watch, "kept")

	const next = "canary-8472"
	replaceFile(t, file, []byte(next))
	gatewaytest.Until(t, "the new file", said("a file has changed and is in use"))
	etcd.ChangePassword(t, "revtail", next)
	gw.Create(t, configMaps, gatewaytest.ConfigMap("after", ""))
	wantEvent(t, watch, "after")
	etcd.Kill(t)
	etcd.Restart(t)
	createSoon(t, gw, "later")
	wantEvent(t, watch, "later")
	if log := gw.Log(t); strings.Contains(log, password) || strings.Contains(log, next) {
		t.Error("the log has a password")
	}
}

// TestSecureEtcdRefuses checks that the message about a failed connection to etcd names the flag to change.
func TestSecureEtcdRefuses(t *testing.T) {
	t.Parallel()
	etcd := gatewaytest.StartSecureEtcd(t)
	etcd.EnableLogin(t, "revtail", password, "/registry/", "revtail/")
	stranger := gatewaytest.NewAuthority(t, "stranger")
	cert, key := etcd.WritePair(t, "gateway", etcd.Clients.Issue(t, "no-user"))
	otherCert, otherKey := etcd.WritePair(t, "other", stranger.Issue(t, "no-user"))
	address := strings.TrimPrefix(etcd.Endpoint, "https://")
	secure, known, shown := "--etcd-endpoints="+etcd.Endpoint, "--etcd-cacert="+etcd.CA, []string{"--etcd-cert=" + cert, "--etcd-key=" + key}
	wrong := secretFile(t, "guess")

	tests := map[string]struct {
		args []string
		code int
		says string
	}{
		"authorities not given":      {append(shown, secure), 3, "name its authorities with --etcd-cacert"},
		"wrong authorities":          {append(shown, secure, "--etcd-cacert="+otherCert), 3, "none of the authorities in --etcd-cacert " + otherCert},
		"no client certificate":      {[]string{secure, known}, 3, "wants a client certificate: give --etcd-cert and --etcd-key"},
		"wrong client certificate":   {[]string{secure, known, "--etcd-cert=" + otherCert, "--etcd-key=" + otherKey}, 3, "refuses the client certificate of --etcd-cert " + otherCert},
		"key of another certificate": {[]string{secure, known, "--etcd-cert=" + cert, "--etcd-key=" + otherKey}, 2, "--etcd-cert, --etcd-key: tls: private key does not match"},
		"TLS not asked for":          {[]string{"--etcd-endpoints=" + address}, 3, "speaks TLS: write https:// in --etcd-endpoints"},
		"plain HTTP asked for":       {[]string{"--etcd-endpoints=http://" + address}, 3, "speaks TLS: write https:// in --etcd-endpoints"},
		"no login":                   {append(shown, secure, known), 1, "check --etcd-user, --etcd-password-file and --etcd-cert"},
		"wrong password":             {append(shown, secure, known, "--etcd-user=revtail", "--etcd-password-file="+wrong), 1, "check --etcd-user, --etcd-password-file and --etcd-cert"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"serve", "--listen=127.0.0.1:0", "--startup-timeout=5s"}, test.args...)
			cmd := exec.CommandContext(t.Context(), gatewaytest.Binary(t), args...)
			cmd.Env = []string{} // without a REVTAIL_… of the tests' own environment
			var said bytes.Buffer
			cmd.Stderr = &said
			ended := (*exec.ExitError)(nil)
			if err := cmd.Run(); !errors.As(err, &ended) || ended.ExitCode() != test.code {
				t.Errorf("it ends with %v, want code %d", err, test.code)
			}
			if _, last, _ := strings.Cut(said.String(), "\nrevtail: "); !strings.Contains(last, test.says) {
				t.Errorf("it says\n%swant %q", said.String(), test.says)
			}
		})
	}
}

func secretFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	replaceFile(t, path, []byte(content))
	return path
}

func wantEvent(t *testing.T, watch *gatewaytest.Watch, name string) {
	t.Helper()
	if event := watch.Next(t); event.Type != "ADDED" || event.Object.Metadata.Name != name {
		t.Errorf("event %s, want that %s was added", event.Line, name)
	}
}

// createSoon creates a ConfigMap as soon as etcd answers again.
func createSoon(t *testing.T, gw *gatewaytest.Gateway, name string) {
	t.Helper()
	gatewaytest.Until(t, "a write", func() bool {
		code := gw.Do(t, http.MethodPost, configMaps, gatewaytest.ConfigMap(name, "")).Code
		return code == http.StatusCreated || code == http.StatusConflict // an earlier attempt may have been done
	})
}
