//go:build !noembedded

package embedded

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"os"

	"go.etcd.io/etcd/client/pkg/v3/transport"
)

// clientTLS returns the TLS configuration for the own member: it trusts only the certificate in the file of the member, whatever its
// names, and sends the same certificate as the client. Each handshake reads the files again, like etcd, because they may be renewed.
func clientTLS(info transport.TLSInfo) (*tls.Config, error) {
	config, err := info.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("client TLS: %w", err)
	}
	config.InsecureSkipVerify = true // VerifyConnection is stricter than the check by authority and name
	config.VerifyConnection = func(state tls.ConnectionState) error {
		own, err := leaf(info.CertFile)
		if err != nil {
			return err
		}
		if len(state.PeerCertificates) == 0 || !bytes.Equal(state.PeerCertificates[0].Raw, own) {
			return fmt.Errorf("the server does not show the certificate of %s: it is not the embedded etcd", info.CertFile)
		}
		return nil
	}
	return config, nil
}

// leaf returns the first certificate of a PEM file, in DER.
func leaf(path string) ([]byte, error) {
	rest, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil, errors.New(path + ": no certificate in this file")
		}
		if block.Type == "CERTIFICATE" {
			return block.Bytes, nil
		}
	}
}
