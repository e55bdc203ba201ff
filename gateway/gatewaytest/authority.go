package gatewaytest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	PEM []byte // its own certificate

	cert *x509.Certificate
	key  crypto.Signer
}

// Pair is a certificate and its key, in PEM.
type Pair struct{ Cert, Key []byte }

// NewAuthority makes an authority. change changes its own certificate.
func NewAuthority(tb testing.TB, name string, change ...func(*x509.Certificate)) *Authority {
	tb.Helper()
	a := &Authority{key: newKey(tb)}
	template := newTemplate(tb, name)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	for _, c := range change {
		c(template)
	}
	a.cert = sign(tb, template, template, a.key.Public(), a.key)
	a.PEM = encodePEM("CERTIFICATE", a.cert.Raw)
	return a
}

// Issue makes a certificate for servers on loopback and for clients, valid from an hour ago for a day. change changes its
// template.
func (a *Authority) Issue(tb testing.TB, name string, change ...func(*x509.Certificate)) Pair {
	tb.Helper()
	template := newTemplate(tb, name)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	template.DNSNames, template.IPAddresses = []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	for _, c := range change {
		c(template)
	}
	key := newKey(tb)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	cert := sign(tb, template, a.cert, key.Public(), a.key)
	return Pair{Cert: encodePEM("CERTIFICATE", cert.Raw), Key: encodePEM("PRIVATE KEY", der)}
}

// Pool returns a pool with only this authority, for the RootCAs of a client.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// TLS returns the pair for crypto/tls.
func (p Pair) TLS(tb testing.TB) tls.Certificate {
	tb.Helper()
	cert, err := tls.X509KeyPair(p.Cert, p.Key)
	if err != nil {
		tb.Fatal(err)
	}
	return cert
}

// Write writes, or writes over, the files of the certificate and the key in a folder.
func (p Pair) Write(tb testing.TB, dir, name string) (cert, key string) {
	tb.Helper()
	cert, key = filepath.Join(dir, name+".crt"), filepath.Join(dir, name+".key")
	for path, text := range map[string][]byte{cert: p.Cert, key: p.Key} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return cert, key
}

func newTemplate(tb testing.TB, name string) *x509.Certificate {
	tb.Helper()
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		tb.Fatal(err)
	}
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(23 * time.Hour),
	}
}

func newKey(tb testing.TB) crypto.Signer {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func sign(tb testing.TB, template, parent *x509.Certificate, public crypto.PublicKey, with crypto.Signer) *x509.Certificate {
	tb.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, with)
	if err != nil {
		tb.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	return cert
}

func encodePEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
