package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"revtail/gateway/config/reload"
)

// OpenEtcdTLS reads how to talk to an external etcd from its files, which may be replaced from then on; nil when no option says
// anything about it.
func (c Config) OpenEtcdTLS(logger *slog.Logger) (*reload.File[*tls.Config], error) {
	var sources []reload.Source
	if c.EtcdCACert != "" {
		sources = append(sources, reload.Source{Flag: "--etcd-cacert", Path: c.EtcdCACert})
	}
	if c.EtcdCert != "" {
		sources = append(sources, reload.Source{Flag: "--etcd-cert", Path: c.EtcdCert}, reload.Source{Flag: "--etcd-key", Path: c.EtcdKey})
	}
	if len(sources) == 0 {
		return nil, nil
	}
	return reload.OpenTogether(sources, c.parseEtcdTLS, logger)
}

// EtcdTLS is how to talk to an external etcd, as the files have it now; nil when no option says anything about it.
func (c Config) EtcdTLS() (*tls.Config, error) {
	file, err := c.OpenEtcdTLS(slog.New(slog.DiscardHandler))
	if err != nil || file == nil {
		return nil, err
	}
	return file.Get(), nil
}

func (c Config) parseEtcdTLS(contents [][]byte) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.EtcdCACert != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(contents[0]) {
			return nil, fmt.Errorf("--etcd-cacert %s: no certificate in this file", c.EtcdCACert)
		}
		contents = contents[1:]
	}
	if c.EtcdCert != "" {
		pair, err := tls.X509KeyPair(contents[0], contents[1])
		if err != nil {
			return nil, fmt.Errorf("--etcd-cert, --etcd-key: %w", err)
		}
		// Shown whomever etcd trusts, so that etcd says what it thinks of it.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	return config, nil
}

// OpenEtcdPassword reads the password of EtcdUser from its file, which may be replaced from then on; nil when there is none.
func (c Config) OpenEtcdPassword(logger *slog.Logger) (*reload.File[string], error) {
	if c.EtcdPasswordFile == "" {
		return nil, nil
	}
	return reload.Open("--etcd-password-file", c.EtcdPasswordFile, parsePassword, logger)
}

func parsePassword(content []byte) (string, error) {
	password := strings.TrimRight(string(content), "\r\n")
	if password == "" {
		return "", errors.New("this file is empty")
	}
	return password, nil
}
