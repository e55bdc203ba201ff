package main

import (
	"context"
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
the file that REVTAIL_CONFIG names, or http://127.0.0.1:8080.`,
	}
	url := cmd.Flags().String("url", "", "`URL` of the gateway, as http://127.0.0.1:8080")
	cmd.RunE = verb(func(cmd *cobra.Command) error {
		if *url == "" {
			cfg, err := new(config.Flags).Load(os.Environ())
			if err == nil {
				*url, err = gatewayURL(cfg.Listen[0])
			}
			if err != nil {
				return &exitError{exitUsage, err}
			}
		}
		return checkReady(cmd.Context(), *url, cmd.OutOrStdout())
	})
	return cmd
}

// gatewayURL is where a gateway that listens on an address answers this machine.
func gatewayURL(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || port == "0" {
		return "", errors.New("the address of the gateway is not known from its configuration: give --url")
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip.Is6() {
			host = "::1"
		}
	}
	return "http://" + net.JoinHostPort(host, port), nil
}

// checkReady asks for /readyz.
func checkReady(ctx context.Context, url string, stdout io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(url, "/")+"/readyz", nil)
	if err != nil {
		return &exitError{exitUsage, fmt.Errorf("--url: %w", err)}
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no proxy: it is this machine
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
