package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"revtail/gateway/gatewaytest/program"
)

var (
	bindLine     = regexp.MustCompile(`(?m)^\tbind .*$`)
	serverLines  = regexp.MustCompile(`(?m)^\tserver .*\n`)
	dockersNames = regexp.MustCompile(` resolvers docker init-addr libc,none`)
)

// startBalancer starts HAProxy before the gateways, with the configuration file of the compose stack, but for the addresses, and with HTTPS and
// HTTP/2 for clients. It returns the address of HAProxy.
func startBalancer(ctx context.Context, dir, config string, certificate *program.Certificate, addresses []string) (*program.Process, string, error) {
	path, err := exec.LookPath("haproxy")
	if err != nil {
		return nil, "", fmt.Errorf("-replicas needs a balancer: %w", err)
	}
	text, err := os.ReadFile(config)
	if err != nil {
		return nil, "", err
	}
	pair, err := joined(dir, certificate.CertFile, certificate.KeyFile)
	if err != nil {
		return nil, "", err
	}
	address := program.FreeAddress()
	file := filepath.Join(dir, "haproxy.cfg")
	if err := os.WriteFile(file, []byte(balancerConfig(string(text), address, pair, addresses)), 0o600); err != nil {
		return nil, "", err
	}
	p, err := program.Launch("haproxy", dir, path, "-db", "-f", file)
	if err != nil {
		return nil, "", err
	}
	return p, address, awaitListener(ctx, p, address)
}

// awaitListener waits until a process listens.
func awaitListener(ctx context.Context, p *program.Process, address string) error {
	ctx, cancel := context.WithTimeout(ctx, program.Patience)
	defer cancel()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		if program.Pause(ctx, 50*time.Millisecond) != nil {
			return fmt.Errorf("the balancer does not listen: %w: %s", err, p.LastWords())
		}
	}
}

// balancerConfig puts addresses and certificates into a configuration.
func balancerConfig(config, address, pair string, servers []string) string {
	config = bindLine.ReplaceAllLiteralString(config, fmt.Sprintf("\tbind %s ssl crt %s alpn h2,http/1.1", address, pair))
	config = serverLines.ReplaceAllLiteralString(dockersNames.ReplaceAllLiteralString(config, ""), "")
	var out strings.Builder
	out.WriteString(strings.TrimRight(config, "\n") + "\n")
	for i, server := range servers {
		fmt.Fprintf(&out, "\tserver gateway-%d %s\n", i+1, server)
	}
	return out.String()
}

// joined writes files one after the other into one, and returns its path.
func joined(dir string, files ...string) (string, error) {
	var all []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		all = append(all, text...)
	}
	path := filepath.Join(dir, "balancer.pem")
	return path, os.WriteFile(path, all, 0o600)
}
