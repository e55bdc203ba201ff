//go:build !noembedded

package embedded

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/embed"
	"sigs.k8s.io/yaml"
)

const (
	progressInterval = 5 * time.Second // between the progress notifications of an idle watch; the default of etcd, 10 min, may exceed the history
	quota            = 8 << 30         // bytes; the maximum that etcd recommends, because its default of 2 GiB is soon used up

	// A member without peers misses no heartbeat, but it waits for its election, in milliseconds. It wakes up at each tick.
	disposableTick, disposableElection = 10, 100
)

// load returns the configuration of etcd, without the logger. Errors are *ConfigError.
func (c Config) load() (*embed.Config, error) {
	var ec *embed.Config
	var err error
	switch {
	case c.ConfigFile == "":
		ec, err = c.standalone()
	case c.DataDir != "" || c.ClientURL != "":
		err = errors.New("a configuration file excludes a data directory and a client URL")
	default:
		ec, err = fromFile(c.ConfigFile)
	}
	if err != nil {
		return nil, &ConfigError{Err: err}
	}
	return ec, nil
}

// standalone configures a cluster of one member, which other machines cannot reach.
func (c Config) standalone() (*embed.Config, error) {
	ec := embed.NewConfig()
	ec.Name = "revtail"
	ec.InitialCluster = ec.InitialClusterFromName(ec.Name)
	ec.Dir = cmp.Or(c.DataDir, DefaultDataDir)
	client, err := loopbackURL(c.ClientURL)
	if c.ClientURL == "" {
		client, err = socketURL(ec.Dir)
	}
	if err != nil {
		return nil, err
	}
	ec.ListenClientUrls = []url.URL{*client}
	ec.ListenPeerUrls = nil // one member has no peers, and a peer port would accept raft messages without authentication
	ec.EnableGRPCGateway = false
	ec.HostWhitelist = ownHosts(client) // otherwise a foreign page reads the metrics and the command line after DNS rebinding
	ec.CORS = ec.HostWhitelist          // no origin, because an origin has a scheme; etcd allows every origin if the set is empty
	ec.WatchProgressNotifyInterval = progressInterval
	ec.AutoCompactionRetention = "0" // the compactor of the store does it
	ec.QuotaBackendBytes = quota
	if c.Disposable {
		ec.UnsafeNoFsync = true
		ec.TickMs, ec.ElectionMs = disposableTick, disposableElection
	}
	return ec, nil
}

// ownHosts are the host names under which clients reach the member, as etcd reads them from requests with and without a port.
func ownHosts(client *url.URL) map[string]struct{} {
	hosts := map[string]struct{}{"localhost": {}, "127.0.0.1": {}, "::1": {}, "[::1]": {}, client.Hostname(): {}}
	delete(hosts, "") // of a socket
	return hosts
}

// loopbackURL parses a client URL and refuses addresses that other machines could reach.
func loopbackURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, fmt.Errorf("client URL: %w", err)
	}
	if u.Scheme != "http" || u.Port() == "" || u.User != nil || strings.Trim(u.Path, "/")+u.RawQuery+u.Fragment != "" {
		return nil, fmt.Errorf("client URL %q: want http://ADDRESS:PORT, as in http://127.0.0.1:2379", s)
	}
	if host := u.Hostname(); host != "localhost" {
		ip, err := netip.ParseAddr(host)
		if err != nil || !ip.IsLoopback() {
			return nil, fmt.Errorf("client URL %q: an etcd without authentication listens on a loopback address only "+
				"(127.0.0.1, ::1, localhost); for any other, give a whole etcd configuration file", s)
		}
	}
	u.Path = ""
	return u, nil
}

// urlKeys are the keys for whose invalid values embed calls os.Exit.
var urlKeys = []string{
	"listen-peer-urls", "listen-client-urls", "listen-client-http-urls", "initial-advertise-peer-urls",
	"advertise-client-urls", "listen-metrics-urls",
}

// fromFile reads an etcd configuration file.
func fromFile(path string) (ec *embed.Config, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var keys map[string]any
	if err := yaml.Unmarshal(data, &keys); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, key := range urlKeys {
		if s, ok := keys[key].(string); ok && s != "" {
			if _, err := types.NewURLs(strings.Split(s, ",")); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", path, key, err)
			}
		}
	}
	defer func() { // embed panics for some invalid values
		if p := recover(); p != nil {
			ec, err = nil, fmt.Errorf("%s: %v", path, p)
		}
	}()
	ec, err = embed.ConfigFromFile(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	case ec.Dir == "":
		return nil, fmt.Errorf("%s: data-dir is missing: say where etcd keeps its data", path)
	case len(ec.ListenClientUrls) == 0:
		return nil, fmt.Errorf("%s: listen-client-urls is empty: the gateway itself needs one", path)
	}
	return ec, nil
}

// claim checks that the client addresses are free. It replaces port 0 by a free port, because etcd advertises the configured port, and
// writes the file for ClientURL. Errors are *AddressError.
func (c Config) claim(ec *embed.Config) error {
	if c.ConfigFile == "" {
		if err := claimSocket(ec.Dir, c.ClientURL == ""); err != nil {
			return err
		}
	}
	for i := range ec.ListenClientUrls {
		u := &ec.ListenClientUrls[i]
		if strings.HasPrefix(u.Scheme, "unix") {
			continue
		}
		l, err := net.Listen("tcp", u.Host)
		if err != nil {
			return newAddressError(u.Host, err)
		}
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err := errors.Join(err, l.Close()); err != nil {
			return newAddressError(u.Host, err)
		}
		u.Host = net.JoinHostPort(u.Hostname(), port)
	}
	if c.ConfigFile != "" {
		return nil
	}
	return writeClientURL(ec.Dir, endpointOf(ec.ListenClientUrls[0]))
}
