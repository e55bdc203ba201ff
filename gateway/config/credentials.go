package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
)

// EtcdTLS is how to talk to an external etcd; nil when no option says anything about it. The client certificate is
// read again for each connection, so that it may be renewed.
func (c Config) EtcdTLS() (*tls.Config, error) {
	if c.EtcdCACert+c.EtcdCert == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.EtcdCACert != "" {
		pem, err := os.ReadFile(c.EtcdCACert)
		if err != nil {
			return nil, fmt.Errorf("--etcd-cacert: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--etcd-cacert %s: no certificate in this file", c.EtcdCACert)
		}
	}
	if c.EtcdCert != "" {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			cert, err := tls.LoadX509KeyPair(c.EtcdCert, c.EtcdKey)
			return &cert, err
		}
		if _, err := config.GetClientCertificate(nil); err != nil {
			return nil, fmt.Errorf("--etcd-cert, --etcd-key: %w", err)
		}
	}
	return config, nil
}

// EtcdPassword is the password of EtcdUser, and "" without one.
func (c Config) EtcdPassword() (string, error) {
	if c.EtcdPasswordFile == "" {
		return "", nil
	}
	content, err := os.ReadFile(c.EtcdPasswordFile)
	if err != nil {
		return "", fmt.Errorf("--etcd-password-file: %w", err)
	}
	password := strings.TrimRight(string(content), "\r\n")
	if password == "" {
		return "", errors.New("--etcd-password-file " + c.EtcdPasswordFile + ": this file is empty")
	}
	return password, nil
}
