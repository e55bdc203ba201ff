// Package health has the command health, which reports whether a gateway is ready.
package health

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/gateway/config"
)

// timeout is less than the timeout of the health checks of container runtimes.
const timeout = 5 * time.Second

// NewCommand returns the command health.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "health",
		GroupID: command.GroupOperate,
		Short:   "Exit with 0 when a gateway is ready: the health check of a container",
		Long: `Ask a gateway whether it is ready. Exit with 0 when it is, else with 1 and the reason.

Without --url it asks the gateway that 'revtail serve' starts in the same environment: at REVTAIL_LISTEN, or at listen in the
file of REVTAIL_CONFIG, or at 127.0.0.1:8080; over HTTPS if REVTAIL_TLS_CERT_FILE or tlsCertFile in that file is set, except on unix
sockets.

The certificate of a gateway on a loopback address is checked only with --cacert, because only processes of this machine can
listen there.`,
		Example: `  # the gateway that revtail serve starts with the same environment and configuration
  revtail health

  # a gateway elsewhere, whose certificate is checked
  revtail health --url https://gateway.example.com:8443 --cacert ca.crt`,
	}
	url := cmd.Flags().String("url", "", "`URL` of the gateway, as http://127.0.0.1:8080, or unix:///path of its socket")
	cacert := cmd.Flags().String("cacert", "", "PEM `file` of the authorities that sign the gateway's certificate; none: those of the system")
	cmd.RunE = command.NoArgs(func(cmd *cobra.Command) error {
		if *url == "" {
			cfg, err := new(config.Flags).Load(os.Environ())
			if err == nil {
				*url, err = gatewayURL(cfg)
			}
			if err != nil {
				return command.UsageError(err)
			}
		}
		return probe(cmd.Context(), *url, *cacert, cmd.OutOrStdout())
	})
	return cmd
}

// probe requests /readyz of a gateway. It uses no proxy, because the gateway is usually on this machine.
func probe(ctx context.Context, url, cacert string, stdout io.Writer) error {
	c, err := client.New(client.Config{Servers: []string{url}, ServerFlag: "--url", CACert: cacert, NoProxy: true})
	if err != nil {
		return command.UsageError(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if _, err := c.Page(ctx, "/readyz"); err != nil {
		return fmt.Errorf("not ready: %w", err)
	}
	_, err = fmt.Fprintln(stdout, "ready")
	return err
}

// gatewayURL is the URL of the gateway of a configuration, from this machine.
func gatewayURL(cfg config.Config) (string, error) {
	if _, ok := config.UnixPath(cfg.Listen[0]); ok {
		return cfg.Listen[0], nil
	}
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
