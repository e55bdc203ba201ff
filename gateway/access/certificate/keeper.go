// Package certificate is the TLS configuration of listeners. It follows changes of its files.
package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"strings"
	"time"

	"revtail/gateway/config/reload"
)

// Keeper holds what the files said when they last made sense. New connections get that; open ones are left alone. Generation, Run
// and Reload are those of the files.
type Keeper struct{ *reload.File[*serving] }

// Open reads the files. An error names the flag of the file that it is about.
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

// Config is a configuration for listeners with TLS 1.2 and later, for HTTP/2 and HTTP/1.1. Each handshake gets what the files
// say by then. With authorities for clients, a client may come without a certificate, but not with one that they did not sign.
func (k *Keeper) Config() *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return k.Get().config, nil },
	}
}

// VerifyClient checks a client's certificate, followed by those between it and its authority, with the authorities as they are
// now: an open connection may have come in under others.
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
