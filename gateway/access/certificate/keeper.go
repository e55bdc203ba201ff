// Package certificate is the TLS configuration of listeners. It follows changes of its files.
package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
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
