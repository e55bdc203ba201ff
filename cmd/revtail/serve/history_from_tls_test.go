package serve

import (
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"revtail/gateway/config"
	"revtail/gateway/gatewaytest"
)

// files writes files into a directory of the test.
func files(t *testing.T, contents map[string][]byte) (path func(name string) string) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range contents {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func(name string) string { return filepath.Join(dir, name) }
}

// TestHistoryCopyTLS copies a journal from a gateway with a certificate of its own authority, which wants one of the client.
func TestHistoryCopyTLS(t *testing.T) {
	text := exported(t)
	authority := gatewaytest.NewAuthority(t, "authority")
	server, replica, other := authority.Issue(t, "server"), authority.Issue(t, "replica"), gatewaytest.NewAuthority(t, "other").Issue(t, "stranger")
	path := files(t, map[string][]byte{
		"ca": authority.PEM, "cert": replica.Cert, "key": replica.Key, "other.cert": other.Cert, "other.key": other.Key, "empty": nil,
	})
	pair, err := tls.X509KeyPair(server.Cert, server.Key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority.PEM)
	gateway := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name := r.TLS.PeerCertificates[0].Subject.CommonName; name != "replica" {
			t.Errorf("a request of %s", name)
		}
		_, _ = w.Write(text)
	}))
	gateway.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool}
	gateway.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	gateway.StartTLS()
	defer gateway.Close()
	for _, test := range []struct{ ca, cert, key, says string }{
		{"", "cert", "key", "unknown authority"},
		{"ca", "", "", "start the other gateway, or correct --history-from"},
		{"ca", "other.cert", "other.key", "start the other gateway, or correct --history-from"},
		{"ca", "cert", "other.key", "--history-from-cert-file, --history-from-key-file: "},
		{"empty", "cert", "key", "no certificate in this file"},
		{"ca", "cert", "key", ""},
	} {
		cfg := config.Config{HistoryDir: filepath.Join(t.TempDir(), "history"), HistoryFrom: gateway.URL}
		for name, option := range map[string]*string{test.ca: &cfg.HistoryFromCAFile, test.cert: &cfg.HistoryFromCertFile, test.key: &cfg.HistoryFromKeyFile} {
			if name != "" {
				*option = path(name)
			}
		}
		c := historyCopy{cfg: cfg, logger: slog.New(slog.DiscardHandler)}
		_, failed := c.copy(t.Context())
		if test.says == "" && failed != nil || test.says != "" && (failed == nil || !strings.Contains(failed.Error(), test.says)) {
			t.Errorf("%+v: %v", test, failed)
		}
	}
}
