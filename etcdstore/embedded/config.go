package embedded

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
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

// What is used where Config leaves something out.
const (
	DefaultDataDir   = "revtail.etcd"
	DefaultClientURL = "http://127.0.0.1:2379"
)

const (
	progressInterval = 5 * time.Second // a quiet watch learns this often how far it is complete; etcd's 10 minutes outlive a short history
	quota            = 8 << 30         // bytes; the most that etcd recommends, where its own default of 2 GiB is full too soon
)

// Config says which etcd to start.
type Config struct {
	DataDir string // made with mode 0700 when it does not exist; default DefaultDataDir

	// ClientURL is where clients reach the member: plain HTTP on a loopback address, because the member asks nobody
	// who he is. Port 0 is any free one. Default DefaultClientURL.
	ClientURL string

	// ConfigFile is a whole etcd configuration file (YAML). It decides everything, also about the data directory, addresses
	// and compaction, and so excludes the two fields above; only the log goes to Logger still.
	ConfigFile string

	Logger *slog.Logger // nil: nothing is logged
}

// load makes etcd's own configuration, but for the logger. Errors are *ConfigError.
func (c Config) load() (*embed.Config, error) {
	var ec *embed.Config
	var err error
	switch {
	case c.ConfigFile == "":
		ec, err = c.standalone()
	case c.DataDir != "" || c.ClientURL != "":
		err = errors.New("a configuration file excludes a data directory and a client URL given beside it")
	default:
		ec, err = fromFile(c.ConfigFile)
	}
	if err != nil {
		return nil, &ConfigError{Err: err}
	}
	return ec, nil
}

// standalone is a cluster of one member, which cannot be reached from other machines.
func (c Config) standalone() (*embed.Config, error) {
	client, err := loopbackURL(cmp.Or(c.ClientURL, DefaultClientURL))
	if err != nil {
		return nil, err
	}
	ec := embed.NewConfig()
	ec.Name = "revtail"
	ec.InitialCluster = ec.InitialClusterFromName(ec.Name)
	ec.Dir = cmp.Or(c.DataDir, DefaultDataDir)
	ec.ListenClientUrls = []url.URL{*client}
	ec.ListenPeerUrls = nil // one member has no peers, and a peer port would take anybody's raft messages
	ec.EnableGRPCGateway = false
	ec.WatchProgressNotifyInterval = progressInterval
	ec.AutoCompactionRetention = "0" // the store's own compactor does it
	ec.QuotaBackendBytes = quota
	return ec, nil
}

// loopbackURL parses a client URL and refuses what other machines could reach.
func loopbackURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, fmt.Errorf("client URL: %w", err)
	}
	if u.Scheme != "http" || u.Port() == "" || u.User != nil || strings.Trim(u.Path, "/")+u.RawQuery+u.Fragment != "" {
		return nil, fmt.Errorf("client URL %q: want http://ADDRESS:PORT, as in %s", s, DefaultClientURL)
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

// urlKeys are the keys of etcd's file that end the process when they do not parse (embed calls os.Exit).
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
	defer func() { // embed panics at some other values that it cannot parse
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

// claim finds out whether the client addresses are free, and replaces port 0 by a free port, so that etcd advertises a
// real one. Errors are *AddressError.
func claim(ec *embed.Config) error {
	for i := range ec.ListenClientUrls {
		u := &ec.ListenClientUrls[i]
		if isUnix(u) {
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
	return nil
}

func isUnix(u *url.URL) bool { return strings.HasPrefix(u.Scheme, "unix") }
