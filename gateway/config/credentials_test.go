package config

import (
	"log/slog"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

func TestEtcdTLS(t *testing.T) {
	cert, key := gatewaytest.NewAuthority(t, "etcd").Issue(t, "gateway").Write(t, t.TempDir(), "gateway")

	if got, err := (Config{}).EtcdTLS(); got != nil || err != nil {
		t.Errorf("no options: %v, error %v; want nil", got, err)
	}
	got, err := Config{EtcdCACert: cert, EtcdCert: cert, EtcdKey: key}.EtcdTLS()
	if err != nil {
		t.Fatal(err)
	}
	if got.RootCAs == nil {
		t.Error("no authorities")
	}
	if shown, err := got.GetClientCertificate(nil); err != nil || len(shown.Certificate) != 1 {
		t.Errorf("client certificate: %v, %v", shown, err)
	}

	for flag, c := range map[string]Config{
		"--etcd-cacert":           {EtcdCACert: "absent.pem"},
		"--etcd-cacert " + key:    {EtcdCACert: key},
		"--etcd-cert, --etcd-key": {EtcdCert: cert, EtcdKey: cert},
	} {
		if _, err := c.EtcdTLS(); err == nil || !strings.HasPrefix(err.Error(), flag) {
			t.Errorf("%+v: %v, want an error that begins with %s", c, err, flag)
		}
	}
}

func TestEtcdPassword(t *testing.T) {
	logger := slog.New(slog.DiscardHandler)
	for content, want := range map[string]string{"secret": "secret", "secret\n": "secret", " a b \r\n": " a b "} {
		got, err := Config{EtcdPasswordFile: writeFile(t, content)}.OpenEtcdPassword(logger)
		if err != nil || got.Get() != want {
			t.Errorf("file %q: %v, %v; want %q", content, got, err, want)
		}
	}
	if got, err := (Config{}).OpenEtcdPassword(logger); got != nil || err != nil {
		t.Errorf("no file: %v, %v; want none", got, err)
	}
	for _, path := range []string{"absent", writeFile(t, "\n")} {
		if _, err := (Config{EtcdPasswordFile: path}).OpenEtcdPassword(logger); err == nil || !strings.HasPrefix(err.Error(), "--etcd-password-file") {
			t.Errorf("%s: %v, want an error that names the flag", path, err)
		}
	}
}
