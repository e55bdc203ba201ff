package config

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

// exclusions are the conditions under which options have no effect.
var exclusions = []struct {
	by     string // for messages
	given  func(Config) bool
	others []string // names of options
}{
	{"--etcd-endpoints", Config.External, []string{"data-dir", "embedded-client-url", "embedded-config"}},
	{"--embedded-config", func(c Config) bool { return c.EmbeddedConfig != "" }, []string{"data-dir", "embedded-client-url"}},
	{"only unix sockets at --listen, which have plain HTTP", Config.listensOnSockets, []string{"tls-cert-file", "tls-private-key-file", "client-ca-file"}},
	{"plain HTTP (no --tls-cert-file)", func(c Config) bool { return !c.TLS() }, []string{"client-ca-file"}},
	{"no --oidc-issuer-url", func(c Config) bool { return c.OIDCIssuerURL == "" },
		[]string{"oidc-client-id", "oidc-ca-file", "oidc-username-claim", "oidc-username-prefix", "oidc-groups-claim", "oidc-groups-prefix"}},
	{"only addresses of this machine and neither authentication nor --policy-file", func(c Config) bool { return !c.LimitsWatches() }, []string{"max-watches-per-user"}},
	{"no --encryption-provider-config", func(c Config) bool { return c.EncryptionProviderConfig == "" }, []string{"encryption-keys"}},
	{"no --service-account-issuer", func(c Config) bool { return len(c.ServiceAccountIssuer) == 0 },
		[]string{"service-account-signing-key-file", "service-account-key-file", "service-account-max-token-expiration"}},
	{"no --service-account-signing-key-file", func(c Config) bool { return c.ServiceAccountSigningKeyFile == "" }, []string{"service-account-max-token-expiration"}},
	{"--kube-apiserver, which decides about requests", Config.hasKubeAPIServer, []string{"anonymous", "token-file", "oidc-issuer-url", "policy-file", "service-account-issuer"}},
	{"no --kube-apiserver", func(c Config) bool { return !c.hasKubeAPIServer() },
		[]string{"kube-apiserver-ca-file", "authentication-kubeconfig", "proxy-client-cert-file", "proxy-client-key-file", "forward-resources"}},
	{"no --service-cluster-ip-range", func(c Config) bool { return len(c.ServiceClusterIPRange) == 0 }, []string{"service-node-port-range"}},
	{"no --history-dir", func(c Config) bool { return c.HistoryDir == "" }, []string{"history-resources", "history-keys", "history-from"}},
	{"no --history-from", func(c Config) bool { return c.HistoryFrom == "" }, []string{"history-from-ca-file", "history-from-cert-file", "history-from-key-file", "history-from-token-file"}},
	{"no --otlp-endpoint", func(c Config) bool { return c.OTLPEndpoint == "" }, []string{"otlp-protocol", "trace-sampling"}},
	{"no --audit-log-path", func(c Config) bool { return c.AuditLogPath == "" }, []string{"audit-level"}},
	{"--cluster, which only reads", func(c Config) bool { return c.Cluster },
		[]string{"adopt", "writable", "keys-writable", "encryption-keys", "history", "create-namespaces", "require-namespaces", "service-cluster-ip-range", "garbage-collector", "external-garbage-collector", "garbage-collector-limit"}},
	{"an embedded etcd (no --etcd-endpoints)", func(c Config) bool { return !c.External() }, []string{"etcd-cacert", "etcd-cert", "etcd-key"}},
}

// excluded returns the condition under which an option has no effect; "": it has.
func (c Config) excluded(name string) string {
	for _, e := range exclusions {
		if slices.Contains(e.others, name) && e.given(c) {
			return e.by
		}
	}
	return ""
}

// Validate checks the configuration. The error has one line for each problem, with the flag and what to do. It opens no files.
func (c Config) Validate() error {
	return errors.Join(
		c.validateExclusions(), c.validateBuild(), c.validateListen(), c.validateAdminListen(), c.validateAccess(), c.validateServiceAccounts(), c.validateKubeAPIServer(), c.validateBrowsers(), c.validateEndpoints(), c.validateCredentials(),
		validatePrefix(c.EtcdPrefix), c.validateCluster(), c.validateKeys(), c.validateEncryptionKeys(), c.validateRecorded(), c.validateHistoryFrom(), c.validateCollector(), c.validateServiceAddresses(), c.validateMounts(), c.validateTimes(), c.validateTracing(), c.validateLog())
}

func (c Config) validateExclusions() error {
	var errs []error
	for _, o := range c.options() {
		if by := c.excluded(o.name); by != "" && c.set[o.name] {
			errs = append(errs, fmt.Errorf("--%s has no effect with %s: remove one of the two", o.name, by))
		}
	}
	return errors.Join(errs...)
}

func (c Config) validateAccess() error {
	var errs []error
	if c.Anonymous && c.Authenticates() && c.PolicyFile == "" {
		errs = append(errs, errors.New("--anonymous with authentication needs --policy-file, which authorizes requests without credentials: "+
			"without it they may do everything"))
	}
	if (c.OIDCIssuerURL == "") != (c.OIDCClientID == "") {
		errs = append(errs, errors.New("--oidc-issuer-url and --oidc-client-id go together: a token for another audience must not be valid here"))
	}
	if u, err := url.Parse(c.OIDCIssuerURL); c.OIDCIssuerURL != "" && (err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery+u.Fragment != "") {
		errs = append(errs, errors.New("--oidc-issuer-url: want an https:// URL without a query, exactly as the issuer's tokens have it in iss"))
	}
	if c.OIDCIssuerURL != "" && c.OIDCUsernameClaim == "" {
		errs = append(errs, errors.New("--oidc-username-claim is empty: name the claim with the user, as sub"))
	}
	return errors.Join(errs...)
}

func (c Config) validateBrowsers() error {
	var errs []error
	for _, origin := range c.CORSAllowedOrigins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || origin != strings.ToLower(u.Scheme+"://"+u.Host) || strings.Contains(origin, "*") {
			errs = append(errs, fmt.Errorf("--cors-allowed-origins %q: want an origin as browsers send it, https://example.com, without a path; "+
				"there is no pattern for all: each page that may write here is named", origin))
		}
	}
	for _, host := range c.AllowedHosts {
		if host == "" || host != strings.ToLower(host) || strings.ContainsAny(host, ":/*[] ") {
			errs = append(errs, fmt.Errorf("--allowed-hosts %q: want a name in lower case, without a port", host))
		}
	}
	return errors.Join(errs...)
}

func (c Config) validateEndpoints() error {
	var errs []error
	for _, endpoint := range c.EtcdEndpoints {
		scheme, rest, hasScheme := strings.Cut(endpoint, "://")
		if !hasScheme {
			scheme, rest = "", endpoint
		}
		u, err := url.Parse("//" + rest)
		switch {
		case !slices.Contains([]string{"", "http", "https", "unix", "unixs"}, scheme), err != nil, u.Host+u.Path == "",
			!strings.HasPrefix(scheme, "unix") && (u.Port() == "" || u.Hostname() == "" || u.Path != ""):
			errs = append(errs, fmt.Errorf("--etcd-endpoints %q: want host:port, http://host:port or https://host:port, comma separated, as http://127.0.0.1:2379", endpoint[strings.LastIndex(endpoint, "@")+1:]))
		case u.User != nil:
			errs = append(errs, errors.New("--etcd-endpoints: no user and password in it: use --etcd-user and --etcd-password-file"))
		case scheme == "http" && c.EtcdCACert+c.EtcdCert+c.EtcdKey != "":
			errs = append(errs, fmt.Errorf("--etcd-endpoints %s is not TLS: write https://, or remove --etcd-cacert, --etcd-cert and --etcd-key", endpoint))
		}
	}
	return errors.Join(errs...)
}

func (c Config) validateCredentials() error {
	var errs []error
	if (c.TLSCertFile == "") != (c.TLSPrivateKeyFile == "") {
		errs = append(errs, errors.New("--tls-cert-file and --tls-private-key-file go together: give both or none"))
	}
	if (c.EtcdCert == "") != (c.EtcdKey == "") {
		errs = append(errs, errors.New("--etcd-cert and --etcd-key go together: give both or none"))
	}
	if strings.Contains(c.EtcdUser, ":") {
		errs = append(errs, errors.New("--etcd-user takes only the name, because all users of this machine can read a command line; "+
			"put the password into a file and name it with --etcd-password-file"))
	}
	if (c.EtcdUser == "") != (c.EtcdPasswordFile == "") {
		errs = append(errs, errors.New("--etcd-user and --etcd-password-file go together: give both or none"))
	}
	return errors.Join(errs...)
}

func validatePrefix(prefix string) error {
	switch {
	case prefix == "/":
		return errors.New("--etcd-prefix /: that is all of etcd; choose a path, as /registry")
	case !strings.HasPrefix(prefix, "/") || path.Clean(prefix) != prefix:
		return fmt.Errorf("--etcd-prefix %q: want a path that begins with / and does not end with it, without empty parts, . and .., as /registry", prefix)
	}
	return nil
}

func (c Config) validateCluster() error {
	if c.Cluster && !c.External() {
		return errors.New("--cluster: name the etcd of the cluster with --etcd-endpoints, as https://127.0.0.1:2379, and its certificates")
	}
	return nil
}

func (c Config) validateKeys() error {
	for flag, keys := range map[string][]string{"keys": c.Keys, "keys-writable": c.KeysWritable} {
		if slices.Contains(keys, "") {
			return fmt.Errorf("--%s: a key is empty: want keys, or prefixes that end with /, as /app/; or \"*\" for every key", flag)
		}
	}
	return nil
}

func (c Config) validateCollector() error {
	if c.GarbageCollector && c.ExternalGarbageCollector {
		return errors.New("--external-garbage-collector: two programs would delete the same objects: add --garbage-collector=false")
	}
	return nil
}

func (c Config) validateTimes() error {
	var errs []error
	if other := Default(); c.HistoryDir == "" && (c.HistoryRetention != other.HistoryRetention || c.HistoryMaxSize != other.HistoryMaxSize) {
		errs = append(errs, errors.New("--history-retention and --history-max-size are bounds of the journal: want --history-dir, too"))
	}
	for flag, d := range map[string]time.Duration{"history": c.History, "history-retention": c.HistoryRetention, "drain-delay": c.DrainDelay, "drain-grace": c.DrainGrace} {
		if d < 0 {
			errs = append(errs, fmt.Errorf("--%s %v: want 0 or more, as 15s", flag, d))
		}
	}
	if c.StartupTimeout <= 0 {
		errs = append(errs, fmt.Errorf("--startup-timeout %v: want more than 0, as 30s", c.StartupTimeout))
	}
	return errors.Join(errs...)
}

// Enumerations are the values of the options that have a few, for completion.
var Enumerations = map[string][]string{
	"audit-level": {"none", "metadata", "request"}, "log-format": {LogAuto, LogText, LogJSON}, "log-level": {"debug", "info", "warn", "error"},
	"otlp-protocol": {OTLPGRPC, OTLPHTTP},
}

func (c Config) validateLog() error {
	if !slices.Contains(Enumerations["audit-level"], c.AuditLevel) {
		return fmt.Errorf("--audit-level %q: want none, metadata or request", c.AuditLevel)
	}
	if !slices.Contains(Enumerations["log-format"], c.LogFormat) {
		return fmt.Errorf("--log-format %q: want %s, %s or %s", c.LogFormat, LogAuto, LogText, LogJSON)
	}
	return nil
}

func (c Config) validateTracing() error {
	if c.OTLPEndpoint == "" {
		return nil
	}
	u, err := url.Parse(c.OTLPEndpoint)
	switch {
	case !slices.Contains(Enumerations["otlp-protocol"], c.OTLPProtocol):
		return fmt.Errorf("--otlp-protocol %q (OTEL_EXPORTER_OTLP_PROTOCOL): want %s or %s", c.OTLPProtocol, OTLPGRPC, OTLPHTTP)
	case err != nil, u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "", u.User != nil, u.RawQuery+u.Fragment != "":
		return errors.New("--otlp-endpoint: want the http:// or https:// URL of a collector, as http://127.0.0.1:4317; credentials belong into OTEL_EXPORTER_OTLP_HEADERS")
	case c.OTLPProtocol == OTLPGRPC && strings.Trim(u.Path, "/") != "":
		return fmt.Errorf("--otlp-endpoint: OTLP over gRPC has no path: remove it, or add --otlp-protocol %s", OTLPHTTP)
	}
	return nil
}

// validateEncryptionKeys refuses keys whose encryption would make revtail, or the providers of resources, work with other values.
func (c Config) validateEncryptionKeys() error {
	var errs []error
	for _, key := range c.EncryptionKeys {
		overlaps := func(prefix string) bool {
			return strings.HasPrefix(key, prefix) || strings.HasSuffix(key, "/") && strings.HasPrefix(prefix, key)
		}
		switch {
		case key == "" || key == "*":
			errs = append(errs, fmt.Errorf("--encryption-keys %q: want keys, or prefixes that end with /, as /app/secret/", key))
		case overlaps(c.EtcdPrefix + "/"):
			errs = append(errs, fmt.Errorf("--encryption-keys %s: the values below %s are those of resources, which have their own names in --encryption-provider-config", key, c.EtcdPrefix))
		case overlaps("revtail/"), overlaps("compact_rev_key"):
			errs = append(errs, fmt.Errorf("--encryption-keys %s: the keys below revtail/ are the gateway's own", key))
		}
	}
	return errors.Join(errs...)
}
