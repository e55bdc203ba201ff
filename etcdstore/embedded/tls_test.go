//go:build !noembedded

package embedded_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"revtail/etcdstore/embedded"
)

// The process reaches its own member although the member's certificate has no name of 127.0.0.1 and clients need certificates.
func TestTLSWithClientCertificates(t *testing.T) {
	cert, key := writeKeyPair(t)
	s := start(t, embedded.Config{ConfigFile: write(t, fileConfig(t, "https", fmt.Sprintf(
		"client-transport-security: {cert-file: %s, key-file: %s, trusted-ca-file: %[1]s, client-cert-auth: true}\n", cert, key)))})
	if _, err := open(t, s).Create(t.Context(), "/a", []byte("1")); err != nil {
		t.Errorf("Create: %v", err)
	}
}

func TestTLSTrustsItsOwnMemberOnly(t *testing.T) {
	ours, other := startTLS(t), startTLS(t)
	for endpoint, isOurs := range map[string]bool{ours.Endpoints()[0]: true, other.Endpoints()[0]: false} {
		dialer := &tls.Dialer{Config: ours.TLS()()}
		conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(endpoint, "https://"))
		if err == nil {
			_ = conn.Close()
		}
		if (err == nil) != isOurs {
			t.Errorf("handshake with the certificate of the own member: %t, error %v", isOurs, err)
		}
	}
}

func startTLS(t *testing.T) *embedded.Server {
	t.Helper()
	return start(t, embedded.Config{ConfigFile: write(t, fileConfig(t, "https", "client-transport-security: {auto-tls: true}\n"))})
}

// writeKeyPair makes a self-signed certificate for servers and clients.
func writeKeyPair(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"etcd.example"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA:        true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}
