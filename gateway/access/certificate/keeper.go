// Package certificate is the TLS configuration of listeners. It follows changes of its files.
package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"revtail/gateway/config/reload"
)

// Keeper has the last valid content of the files. New connections use it, and open connections keep theirs. Generation, Run and Reload
// are those of the files.
type Keeper struct{ *reload.File[*serving] }

// Open reads the files. An error names the flag of the file.
func Open(files Files, logger *slog.Logger) (*Keeper, error) {
	use := func(contents [][]byte) (*serving, error) {
		next, err := files.parse(contents)
		if err != nil {
			return nil, err
		}
		if problems := next.problems(time.Now()); len(problems) > 0 {
			logger.Warn("TLS connections will fail", "reason", strings.Join(problems, "; "))
		}
		return next, nil
	}
	file, err := reload.OpenTogether(files.sources(), use, logger)
	if err != nil {
		return nil, err
	}
	file.SetMetrics("revtail_tls_last_reload_successful", "revtail_tls_reload_failures_total", "the TLS files", nil)
	return &Keeper{file}, nil
}

// Config returns a configuration for listeners: TLS 1.2 and later, with HTTP/2 and HTTP/1.1. Each handshake uses the current content of the
// files. With a client CA, a client may have no certificate, but not one of another authority.
func (k *Keeper) Config() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return k.Get().config, nil },
	}
}

// VerifyClient verifies a client's certificate, followed by intermediate ones, with the current authorities, because those of the handshake
// may have changed since.
func (k *Keeper) VerifyClient(chain []*x509.Certificate) error {
	authorities := k.Get().config.ClientCAs
	if authorities == nil {
		return errors.New("no certificates of clients are accepted")
	}
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{
		Roots: authorities, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err
}

var expiry = prometheus.NewDesc("revtail_tls_certificate_expiry_timestamp_seconds",
	"When the server's certificate in use expires, as Unix time.", nil, nil)

var _ prometheus.Collector = (*Keeper)(nil)

// Describe implements prometheus.Collector.
func (k *Keeper) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- expiry
	k.File.Describe(descriptions)
}

// Collect implements prometheus.Collector.
func (k *Keeper) Collect(out chan<- prometheus.Metric) {
	out <- prometheus.MustNewConstMetric(expiry, prometheus.GaugeValue, float64(k.Get().leaf.NotAfter.Unix()))
	k.File.Collect(out)
}

// Files are the paths of PEM files. Errors name the flags of the files.
type Files struct {
	Certificate string // --tls-cert-file: the server's certificate, followed by intermediate ones
	Key         string // --tls-private-key-file: of the server's certificate
	ClientCA    string // --client-ca-file: authorities of client certificates; empty: none are requested
}

// sources returns the files in the order of the contents that parse takes.
func (f Files) sources() []reload.Source {
	out := []reload.Source{{Flag: "--tls-cert-file", Path: f.Certificate}, {Flag: "--tls-private-key-file", Path: f.Key}}
	if f.ClientCA != "" {
		out = append(out, reload.Source{Flag: "--client-ca-file", Path: f.ClientCA})
	}
	return out
}

// serving is the parsed content of the files.
type serving struct {
	config *tls.Config
	leaf   *x509.Certificate
	cas    []*x509.Certificate
}

// parse checks the contents, and that the key is that of the certificate.
func (f Files) parse(contents [][]byte) (*serving, error) {
	pair, err := tls.X509KeyPair(contents[0], contents[1])
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
	if s.cas, err = parseAuthorities(contents[2]); err != nil {
		return nil, fmt.Errorf("--client-ca-file %s: %w", f.ClientCA, err)
	}
	s.config.ClientAuth = tls.VerifyClientCertIfGiven
	s.config.ClientCAs = x509.NewCertPool()
	for _, ca := range s.cas {
		s.config.ClientCAs.AddCert(ca)
	}
	return s, nil
}

// parseAuthorities refuses a bundle with an invalid certificate, because an operator relies on each of them.
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

// problems returns the reasons why clients will refuse the certificates, or will be refused, at a time.
func (s *serving) problems(now time.Time) (problems []string) {
	what := "the certificate of --tls-cert-file"
	for _, c := range append([]*x509.Certificate{s.leaf}, s.cas...) {
		switch {
		case now.After(c.NotAfter):
			problems = append(problems, fmt.Sprintf("%s has expired at %s", what, c.NotAfter.Format(time.RFC3339)))
		case now.Before(c.NotBefore):
			problems = append(problems, fmt.Sprintf("%s is not valid before %s", what, c.NotBefore.Format(time.RFC3339)))
		}
		what = "an authority of --client-ca-file"
	}
	return problems
}
