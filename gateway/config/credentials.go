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

// OpenEtcdTLS returns the TLS configuration for an external etcd, which follows changes of its files; nil without such options.
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

// EtcdTLS returns the present TLS configuration for an external etcd; nil without such options.
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
		// Send the certificate even if etcd does not list its authority, so that the error comes from etcd.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	return config, nil
}

// OpenEtcdPassword returns the password of EtcdUser, which follows changes of its file; nil without that option.
func (c Config) OpenEtcdPassword(logger *slog.Logger) (*reload.File[string], error) {
	if c.EtcdPasswordFile == "" {
		return nil, nil
	}
	return reload.Open("--etcd-password-file", c.EtcdPasswordFile, func(content []byte) (string, error) {
		password := strings.TrimRight(string(content), "\r\n")
		if password == "" {
			return "", errors.New("this file is empty")
		}
		return password, nil
	}, logger)
}
