package certificate

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"time"
)

// Files are the names of PEM files. Errors call them by the flags that give them.
type Files struct {
	Certificate string // --tls-cert-file: the server's certificate, followed by those between it and its authority
	Key         string // --tls-private-key-file: of the first of these
	ClientCA    string // --client-ca-file: authorities for the certificates of clients; empty: clients are not asked for any
}

// contents are what the files hold.
type contents struct{ certificate, key, clientCA []byte }

// read reads them all. It gives what it could read also with an error.
func (f Files) read() (c contents, err error) {
	var errs [3]error
	c.certificate, errs[0] = readFile("--tls-cert-file", f.Certificate)
	c.key, errs[1] = readFile("--tls-private-key-file", f.Key)
	if f.ClientCA != "" {
		c.clientCA, errs[2] = readFile("--client-ca-file", f.ClientCA)
	}
	return c, errors.Join(errs[:]...)
}

func readFile(flag, name string) ([]byte, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return content, nil
}

// digest is different for different contents. The key itself need not be kept to be compared.
func (c contents) digest() [sha256.Size]byte {
	var all []byte
	for _, content := range [][]byte{c.certificate, c.key, c.clientCA} {
		sum := sha256.Sum256(content)
		all = append(all, sum[:]...)
	}
	return sha256.Sum256(all)
}

// serving is what files amount to.
type serving struct {
	config *tls.Config
	leaf   *x509.Certificate
	cas    []*x509.Certificate
}

// parse checks that the contents are whole and belong together.
func (f Files) parse(c contents) (*serving, error) {
	pair, err := tls.X509KeyPair(c.certificate, c.key)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert-file %s and --tls-private-key-file %s: %w", f.Certificate, f.Key, err)
	}
	s := &serving{leaf: pair.Leaf, config: &tls.Config{
		MinVersion:   tls.VersionTLS12,
		NextProtos:   []string{"h2", "http/1.1"},
		Certificates: []tls.Certificate{pair},
	}}
	if f.ClientCA == "" {
		return s, nil
	}
	if s.cas, err = parseAuthorities(c.clientCA); err != nil {
		return nil, fmt.Errorf("--client-ca-file %s: %w", f.ClientCA, err)
	}
	s.config.ClientAuth = tls.VerifyClientCertIfGiven
	s.config.ClientCAs = x509.NewCertPool()
	for _, ca := range s.cas {
		s.config.ClientCAs.AddCert(ca)
	}
	return s, nil
}

// parseAuthorities refuses a bundle with a certificate that cannot be read: its owner believes that it is in force.
func parseAuthorities(bundle []byte) ([]*x509.Certificate, error) {
	var cas []*x509.Certificate
	for {
		var block *pem.Block
		if block, bundle = pem.Decode(bundle); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		ca, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		cas = append(cas, ca)
	}
	if len(cas) == 0 {
		return nil, errors.New("no certificate in this file")
	}
	return cas, nil
}

// problems are what a client will hold against the certificates, or what will be held against clients, at a time.
func (s *serving) problems(now time.Time) []string {
	problems := outOfDate(nil, "the certificate of --tls-cert-file", s.leaf, now)
	for _, ca := range s.cas {
		problems = outOfDate(problems, "an authority of --client-ca-file", ca, now)
	}
	return problems
}

func outOfDate(problems []string, what string, c *x509.Certificate, now time.Time) []string {
	switch {
	case now.After(c.NotAfter):
		return append(problems, fmt.Sprintf("%s has expired at %s", what, c.NotAfter.Format(time.RFC3339)))
	case now.Before(c.NotBefore):
		return append(problems, fmt.Sprintf("%s is not valid before %s", what, c.NotBefore.Format(time.RFC3339)))
	}
	return problems
}
