package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"revtail/gateway/config"
)

// diagnosisTimeout is for one endpoint; a machine next door answers in a hundredth of that.
const diagnosisTimeout = 2 * time.Second

// diagnoseTLS finds out why no endpoint of an external etcd answers, if that is a matter of TLS, and says which flag is to be
// changed; nil: it is not. gRPC tells what went wrong in its own words, and sometimes only that a connection broke.
func diagnoseTLS(ctx context.Context, cfg config.Config) error {
	tlsConfig, err := cfg.EtcdTLS()
	if err != nil {
		return err
	}
	for _, endpoint := range cfg.EtcdEndpoints {
		scheme, host, hasScheme := strings.Cut(endpoint, "://")
		if !hasScheme {
			scheme, host = "", endpoint
		}
		switch {
		case strings.HasPrefix(scheme, "unix"):
			continue
		case scheme == "https", scheme == "" && tlsConfig != nil:
			err = diagnoseSecure(ctx, host, tlsConfig, cfg)
		default:
			err = diagnosePlain(ctx, host)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// diagnoseSecure shakes hands with an etcd as gRPC does.
func diagnoseSecure(ctx context.Context, host string, tlsConfig *tls.Config, cfg config.Config) error {
	if tlsConfig == nil {
		tlsConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	err := shakeHands(ctx, host, tlsConfig)
	var (
		unknown  x509.UnknownAuthorityError
		names    x509.HostnameError
		invalid  x509.CertificateInvalidError
		answered *net.OpError
		noTLS    tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &unknown) && cfg.EtcdCACert == "":
		return fmt.Errorf("the certificate of etcd at %s is signed by no authority that this system knows: name its authorities with --etcd-cacert", host)
	case errors.As(err, &unknown):
		return fmt.Errorf("the certificate of etcd at %s is signed by none of the authorities in --etcd-cacert %s", host, cfg.EtcdCACert)
	case errors.As(err, &names):
		return fmt.Errorf("the certificate of etcd at %s is for other names: correct --etcd-endpoints, or that certificate (%w)", host, names)
	case errors.As(err, &invalid):
		return fmt.Errorf("the certificate of etcd at %s cannot be accepted (--etcd-endpoints, --etcd-cacert): %w", host, invalid)
	case errors.As(err, &noTLS), errors.Is(err, io.EOF) && answersPlainly(ctx, host): // etcd itself hangs up at TLS that it does not speak
		return fmt.Errorf("etcd at %s does not speak TLS: write http:// in --etcd-endpoints, without --etcd-cacert, --etcd-cert and --etcd-key", host)
	case !errors.As(err, &answered) || answered.Op != remoteError:
		return nil
	case cfg.EtcdCert == "":
		return fmt.Errorf("etcd at %s wants a client certificate: give --etcd-cert and --etcd-key (%w)", host, answered)
	default:
		return fmt.Errorf("etcd at %s refuses the client certificate of --etcd-cert %s: %w", host, cfg.EtcdCert, answered)
	}
}

// remoteError is what crypto/tls calls the operation of an error that the other side reported.
const remoteError = "remote error"

// diagnosePlain tries TLS where it is not asked for. It trusts anybody, and tells nobody anything.
func diagnosePlain(ctx context.Context, host string) error {
	err := shakeHands(ctx, host, &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true})
	if answered := (*net.OpError)(nil); err == nil || errors.As(err, &answered) && answered.Op == remoteError {
		return fmt.Errorf("etcd at %s speaks TLS: write https:// in --etcd-endpoints", host)
	}
	return nil
}

// answersPlainly tells whether a server answers a request without TLS.
func answersPlainly(ctx context.Context, host string) bool {
	ctx, cancel := context.WithTimeout(ctx, diagnosisTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", host)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	start := make([]byte, len("HTTP/"))
	if conn.SetDeadline(time.Now().Add(diagnosisTimeout)) != nil {
		return false
	}
	if _, err = io.WriteString(conn, "GET /version HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\n\r\n"); err == nil {
		_, err = io.ReadFull(conn, start)
	}
	return err == nil && string(start) == "HTTP/"
}

// shakeHands returns nil when the server has sent its first bytes: only by then has it accepted the client's certificate.
func shakeHands(ctx context.Context, host string, tlsConfig *tls.Config) error {
	ctx, cancel := context.WithTimeout(ctx, diagnosisTimeout)
	defer cancel()
	tlsConfig = tlsConfig.Clone()
	tlsConfig.NextProtos = []string{"h2"}
	conn, err := (&tls.Dialer{Config: tlsConfig}).DialContext(ctx, "tcp", host)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetReadDeadline(time.Now().Add(diagnosisTimeout)); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1))
	return err
}
