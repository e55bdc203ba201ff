package serve

import (
	"crypto/tls"

	"revtail/gateway/access/certificate"
)

// openCertificates reads the files of TLS, if they are configured.
func (p *process) openCertificates() (err error) {
	if p.cfg.TLS() {
		p.certificates, err = certificate.Open(certificate.Files{
			Certificate: p.cfg.TLSCertFile, Key: p.cfg.TLSPrivateKeyFile, ClientCA: p.cfg.ClientCAFile,
		}, p.logger)
	}
	return err
}

// openCredentials reads the files of TLS and of the password for etcd, if they are configured.
func (p *process) openCredentials() (err error) {
	if p.cfg.External() {
		if p.etcdTLS, err = p.cfg.OpenEtcdTLS(p.logger); err != nil {
			return err
		}
	}
	p.etcdPassword, err = p.cfg.OpenEtcdPassword(p.logger)
	return err
}

// tlsConfig is nil for plain HTTP.
func (p *process) tlsConfig() *tls.Config {
	if p.certificates == nil {
		return nil
	}
	return p.certificates.Config()
}
