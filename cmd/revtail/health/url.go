package health

import (
	"errors"
	"net"
	"net/netip"

	"revtail/gateway/config"
)

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
