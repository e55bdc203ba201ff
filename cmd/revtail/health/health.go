package health

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

// timeout is less than the timeout of the health checks of container runtimes.
const timeout = 5 * time.Second

// NewCommand returns the command health.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Exit with 0 when a gateway is ready: the health check of a container",
		Long: `Ask a gateway whether it is ready. Exit with 0 when it is, else with 1 and the reason.

Without --url it asks the gateway that 'revtail serve' starts in the same environment: at REVTAIL_LISTEN, or at listen in the
file of REVTAIL_CONFIG, or at 127.0.0.1:8080; over HTTPS if REVTAIL_TLS_CERT_FILE or tlsCertFile in that file is set.

The certificate of a gateway on a loopback address is checked only with --cacert, because only processes of this machine can
listen there.`,
	}
	p := probe{}
	cmd.Flags().StringVar(&p.url, "url", "", "`URL` of the gateway, as http://127.0.0.1:8080")
	cmd.Flags().StringVar(&p.cacert, "cacert", "", "PEM `file` of the authorities that sign the gateway's certificate; none: those of the system")
	cmd.RunE = command.NoArgs(func(cmd *cobra.Command) error {
		if p.url == "" {
			cfg, err := new(config.Flags).Load(os.Environ())
			if err == nil {
				p.url, err = gatewayURL(cfg)
			}
			if err != nil {
				return command.UsageError(err)
			}
		}
		return p.run(cmd.Context(), cmd.OutOrStdout())
	})
	return cmd
}

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

// gatewayURL is the URL of the gateway of a configuration, from this machine.
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
