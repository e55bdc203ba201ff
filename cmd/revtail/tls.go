package main

import (
	"crypto/tls"

	"github.com/prometheus/client_golang/prometheus"

	"revtail/gateway/certificate"
)

// openCertificates reads the files of TLS, when there are any.
func (p *process) openCertificates() (err error) {
	if p.cfg.TLS() {
		p.certificates, err = certificate.Open(certificate.Files{
			Certificate: p.cfg.TLSCertFile, Key: p.cfg.TLSPrivateKeyFile, ClientCA: p.cfg.ClientCAFile,
		}, p.logger)
	}
	return err
}

// tlsConfig is nil for plain HTTP.
func (p *process) tlsConfig() *tls.Config {
	if p.certificates == nil {
		return nil
	}
	return p.certificates.Config()
}

// metrics are those that the gateway has not by itself.
func (p *process) metrics() []prometheus.Collector {
	all := []prometheus.Collector{p.limit.refused}
	for _, f := range p.files() {
		all = append(all, f)
	}
	return all
}
