package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writeKeyPair makes a certificate signed by itself.
func writeKeyPair(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	for path, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func TestEtcdTLS(t *testing.T) {
	cert, key := writeKeyPair(t)

	if got, err := (Config{}).EtcdTLS(); got != nil || err != nil {
		t.Errorf("no options: %v, %v; want nil", got, err)
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
