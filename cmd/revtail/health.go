package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/command"
	"revtail/gateway/config"
)

// healthTimeout is below what container runtimes wait for a health check.
const healthTimeout = 5 * time.Second

func newHealthCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Exit with 0 when a gateway is ready: the health check of a container",
		Long: `Ask a gateway whether it is ready. Exit with 0 when it is, else with 1 and the reason.

Without --url it asks the gateway that 'revtail serve' would be in the same environment: REVTAIL_LISTEN, or listen in
the file that REVTAIL_CONFIG names, or 127.0.0.1:8080; over HTTPS if REVTAIL_TLS_CERT_FILE, or that file, says so.

The certificate of a gateway on a loopback address is not checked, unless --cacert says with what: nobody else can listen
there but who is on this machine.`,
	}
	check := readyCheck{}
	cmd.Flags().StringVar(&check.url, "url", "", "`URL` of the gateway, as http://127.0.0.1:8080")
	cmd.Flags().StringVar(&check.cacert, "cacert", "", "PEM `file` of the authorities that the gateway's certificate is checked with; none: those of the system")
	cmd.RunE = command.NoArgs(func(cmd *cobra.Command) error {
		if check.url == "" {
			cfg, err := new(config.Flags).Load(os.Environ())
			if err == nil {
				check.url, err = gatewayURL(cfg)
			}
			if err != nil {
				return command.UsageError(err)
			}
		}
		return check.run(cmd.Context(), cmd.OutOrStdout())
	})
	return cmd
}

// gatewayURL is where a gateway answers this machine.
func gatewayURL(cfg config.Config) (string, error) {
	host, port, err := net.SplitHostPort(cfg.Listen[0])
	if err != nil || port == "0" {
		return "", errors.New("the address of the gateway is not known from its configuration: give --url")
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip.Is6() {
			host = "::1"
		}
	}
	scheme := "http://"
	if cfg.TLS() {
		scheme = "https://"
	}
	return scheme + net.JoinHostPort(host, port), nil
}

// readyCheck asks a gateway for /readyz.
type readyCheck struct {
	url    string // of the gateway
	cacert string // file of authorities; empty: the system's, and any for an address of this machine
}

func (c readyCheck) run(ctx context.Context, stdout io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(c.url, "/")+"/readyz", nil)
	if err != nil {
		return command.UsageError(fmt.Errorf("--url: %w", err))
	}
	tlsConfig, err := c.tlsConfig(req.URL.Hostname())
	if err != nil {
		return command.UsageError(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: tlsConfig}} // no proxy: it is this machine
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

func (c readyCheck) tlsConfig(host string) (*tls.Config, error) {
	if c.cacert == "" {
		return &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: config.Loopback(host)}, nil
	}
	pem, err := os.ReadFile(c.cacert)
	if err != nil {
		return nil, fmt.Errorf("--cacert: %w", err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("--cacert %s: no certificate in this file", c.cacert)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities}, nil
}
