package backend

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"revtail/gateway/config"
	"revtail/gateway/gatewaytest"
)

func TestDiagnoseTLS(t *testing.T) {
	authority := gatewaytest.NewAuthority(t, "authority")
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, authority.PEM, 0o600); err != nil {
		t.Fatal(err)
	}
	fit := greet(t, authority.Issue(t, "fit"))
	expired := greet(t, authority.Issue(t, "expired", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }))
	elsewhere := greet(t, authority.Issue(t, "elsewhere", func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"elsewhere"} }))
	plain := greet(t, gatewaytest.Pair{})

	tests := map[string]struct {
		endpoints []string
		ca        string
		says      string // empty: no problem is reported
	}{
		"nothing is wrong":          {endpoints: []string{"https://" + fit}, ca: ca},
		"nothing is wrong, by flag": {endpoints: []string{fit}, ca: ca},
		"no listener":               {endpoints: []string{"https://127.0.0.1:1", "127.0.0.1:1"}},
		"a socket":                  {endpoints: []string{"unix:///absent"}},
		"no authorities":            {endpoints: []string{"https://" + fit}, says: "--etcd-cacert"},
		"out of date":               {endpoints: []string{"https://" + expired}, ca: ca, says: "expired"},
		"other names":               {endpoints: []string{"https://" + elsewhere}, ca: ca, says: "--etcd-endpoints, or that certificate"},
		"TLS for a plain server":    {endpoints: []string{"https://" + plain}, ca: ca, says: "write http:// in --etcd-endpoints"},
		"no TLS for a TLS server":   {endpoints: []string{fit}, says: "write https:// in --etcd-endpoints"},
		"no TLS for a plain server": {endpoints: []string{plain}},
		"the second one is expired": {endpoints: []string{"https://" + fit, "https://" + expired}, ca: ca, says: expired},
	}
	for name, test := range tests {
		err := DiagnoseTLS(t.Context(), config.Config{EtcdEndpoints: test.endpoints, EtcdCACert: test.ca})
		if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v, want %q", name, err, test.says)
		}
	}
}

// greet accepts connections and sends a few bytes on each; over TLS if there is a certificate. It returns the address.
func greet(t *testing.T, pair gatewaytest.Pair) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	address := l.Addr().String()
	if pair.Cert != nil {
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair.TLS(t)}, NextProtos: []string{"h2"}})
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("hello")) // the client may have closed the connection
			_ = conn.Close()
		}
	}()
	return address
}
