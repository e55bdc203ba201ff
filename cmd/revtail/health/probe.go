package health

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"revtail/cmd/revtail/command"
	"revtail/gateway/config"
)

// probe requests /readyz of a gateway.
type probe struct {
	url    string // of the gateway
	cacert string // file of authorities; empty: those of the system, and any certificate on loopback
}

func (p probe) run(ctx context.Context, stdout io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(p.url, "/")+"/readyz", nil)
	if err != nil {
		return command.UsageError(fmt.Errorf("--url: %w", err))
	}
	tlsConfig, err := p.tlsConfig(req.URL.Hostname())
	if err != nil {
		return command.UsageError(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: tlsConfig}} // no proxy, because the gateway is usually on this machine
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("not ready: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusOK {
		_, err = fmt.Fprintln(stdout, "ready")
		return err
	}
	reason, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err != nil {
		return fmt.Errorf("not ready: %s: %w", resp.Status, err)
	}
	return fmt.Errorf("not ready: %s: %s", resp.Status, strings.TrimSpace(string(reason)))
}

func (p probe) tlsConfig(host string) (*tls.Config, error) {
	if p.cacert == "" {
		return &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: config.Loopback(host)}, nil
	}
	pem, err := os.ReadFile(p.cacert)
	if err != nil {
		return nil, fmt.Errorf("--cacert: %w", err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--cacert %s: no certificate in this file", p.cacert)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities}, nil
}
