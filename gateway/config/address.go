package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
)

// UnixPath returns the path of a unix socket if an address or URL is one, as unix:///run/revtail.sock.
func UnixPath(address string) (path string, ok bool) { return strings.CutPrefix(address, "unix://") }

// isUnix reports whether an address is a unix socket.
func isUnix(address string) bool {
	_, ok := UnixPath(address)
	return ok
}

// listensOnSockets reports whether all addresses are unix sockets.
func (c Config) listensOnSockets() bool {
	return len(c.Listen) > 0 && !slices.ContainsFunc(c.Listen, func(address string) bool { return !isUnix(address) })
}

// Loopback reports whether only this machine can reach a host.
func Loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// local reports whether only this machine can reach an address: a host on loopback, or a unix socket.
func local(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return isUnix(address) || err == nil && Loopback(host)
}

// checkAddress returns an error unless an address is host:port or a unix socket with an absolute path.
func checkAddress(address string) error {
	if file, ok := UnixPath(address); ok {
		if !path.IsAbs(file) || path.Clean(file) != file || file == "/" {
			return errors.New("want the absolute path of a socket, as in unix:///run/revtail/revtail.sock")
		}
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return errors.New("want host:port with a port from 0 to 65535, as in 127.0.0.1:8080, or unix:///PATH")
	}
	return nil
}

func (c Config) validateListen() error {
	var errs []error
	for _, address := range c.Listen {
		err := checkAddress(address)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("--listen %q: %w", address, err))
		case !local(address) && !c.Anonymous && !(c.TLS() && c.Authenticates()):
			errs = append(errs, fmt.Errorf("--listen %s: %s: every client of this address could read and change the keys under %s in etcd. "+
				"Give it both, listen on a loopback address such as 127.0.0.1:%s, or add --anonymous if that is meant",
				address, c.exposed(), c.EtcdPrefix, portOf(address)))
		}
	}
	return errors.Join(errs...)
}

func (c Config) validateAdminListen() error {
	if c.AdminListen == "" {
		return nil
	}
	err := checkAddress(c.AdminListen)
	switch {
	case err != nil:
		return fmt.Errorf("--admin-listen %q: %w", c.AdminListen, err)
	case !local(c.AdminListen):
		return fmt.Errorf("--admin-listen %s: it shows the memory of the process without authentication: listen on a loopback address such as 127.0.0.1:%s "+
			"or on a unix socket, and reach it with ssh -L or kubectl port-forward; /metrics is at --listen too", c.AdminListen, portOf(c.AdminListen))
	}
	return nil
}

func portOf(address string) string {
	_, port, _ := net.SplitHostPort(address) // checkAddress has accepted the address
	return port
}

// exposed returns the missing protections of an address that other machines can reach.
func (c Config) exposed() string {
	var lacks []string
	if !c.TLS() {
		lacks = append(lacks, "no TLS (--tls-cert-file, --tls-private-key-file)")
	}
	if !c.Authenticates() {
		lacks = append(lacks, "no authentication (--client-ca-file, --token-file or --oidc-issuer-url)")
	}
	return strings.Join(lacks, " and ")
}
