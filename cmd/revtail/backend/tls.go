package backend

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"revtail/gateway/config"
)

// probeTimeout bounds the connection to one endpoint. A host in the same network answers within 1/100 of it.
const probeTimeout = 2 * time.Second

// DiagnoseTLS probes the endpoints of an external etcd for TLS errors. The error names the flag to change; nil means that TLS is
// not the cause. The probes are necessary because gRPC often reports a failed handshake as a broken connection only.
func DiagnoseTLS(ctx context.Context, cfg config.Config) error {
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
			err = diagnoseHTTPS(ctx, host, tlsConfig, cfg)
		default:
			err = diagnoseHTTP(ctx, host)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// diagnoseHTTPS explains the error of a TLS handshake with an https:// endpoint.
func diagnoseHTTPS(ctx context.Context, host string, tlsConfig *tls.Config, cfg config.Config) error {
	if tlsConfig == nil {
		tlsConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	err := handshake(ctx, host, tlsConfig)
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	names, wrongName := errors.AsType[x509.HostnameError](err)
	invalid, isInvalid := errors.AsType[x509.CertificateInvalidError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	remote, isRemote := errors.AsType[*net.OpError](err)
	switch {
	case unknown && cfg.EtcdCACert == "":
		return fmt.Errorf("the certificate of etcd at %s is signed by no authority that this system knows: name its authorities with --etcd-cacert", host)
	case unknown:
		return fmt.Errorf("the certificate of etcd at %s is signed by none of the authorities in --etcd-cacert %s", host, cfg.EtcdCACert)
	case wrongName:
		return fmt.Errorf("the certificate of etcd at %s is for other names: correct --etcd-endpoints, or that certificate (%w)", host, names)
	case isInvalid:
		return fmt.Errorf("the certificate of etcd at %s cannot be accepted (--etcd-endpoints, --etcd-cacert): %w", host, invalid)
	case noTLS, errors.Is(err, io.EOF) && speaksHTTP(ctx, host): // etcd closes the connection when it does not speak TLS
		return fmt.Errorf("etcd at %s does not speak TLS: write http:// in --etcd-endpoints, without --etcd-cacert, --etcd-cert and --etcd-key", host)
	case !isRemote || remote.Op != RemoteError:
		return nil
	case cfg.EtcdCert == "":
		return fmt.Errorf("etcd at %s wants a client certificate: give --etcd-cert and --etcd-key (%w)", host, remote)
	default:
		return fmt.Errorf("etcd at %s refuses the client certificate of --etcd-cert %s: %w", host, cfg.EtcdCert, remote)
	}
}

// RemoteError is the Op of a net.OpError of crypto/tls for an alert of the peer.
const RemoteError = "remote error"

// diagnoseHTTP finds out whether an http:// endpoint speaks TLS. It accepts any certificate, because it sends no data.
func diagnoseHTTP(ctx context.Context, host string) error {
	err := handshake(ctx, host, &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true})
	if remote := (*net.OpError)(nil); err == nil || errors.As(err, &remote) && remote.Op == RemoteError {
		return fmt.Errorf("etcd at %s speaks TLS: write https:// in --etcd-endpoints", host)
	}
	return nil
}

// speaksHTTP reports whether a server answers a request without TLS.
func speaksHTTP(ctx context.Context, host string) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+"/version", nil)
	if err != nil {
		return false
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return true
}

// handshake returns nil after the first byte from the server, because the server verifies the client certificate only after the
// client has finished its handshake.
func handshake(ctx context.Context, host string, tlsConfig *tls.Config) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	tlsConfig = tlsConfig.Clone()
	tlsConfig.NextProtos = []string{"h2"}
	conn, err := (&tls.Dialer{Config: tlsConfig}).DialContext(ctx, "tcp", host)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetReadDeadline(time.Now().Add(probeTimeout)); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1))
	return err
}
