package config

import (
	"log/slog"
	"slices"
	"strings"
	"time"

	"revtail/gateway/api/mount"
)

// Config is the configuration of a gateway. Flags.Load returns it, Validate checks it. options.go describes each field.
type Config struct {
	Listen    []string
	Anonymous bool

	AdminListen string // empty: none

	TLSCertFile       string
	TLSPrivateKeyFile string
	ClientCAFile      string

	TokenFile          string
	OIDCIssuerURL      string
	OIDCClientID       string
	OIDCCAFile         string
	OIDCUsernameClaim  string
	OIDCUsernamePrefix string
	OIDCGroupsClaim    string
	OIDCGroupsPrefix   string
	PolicyFile         string

	ServiceAccountIssuer             []string // empty: no tokens of service accounts are issued or accepted
	ServiceAccountSigningKeyFile     string
	ServiceAccountKeyFile            []string
	ServiceAccountMaxTokenExpiration time.Duration // zero: 2^32 seconds
	APIAudiences                     []string      // empty: the issuers

	KubeAPIServer            string // a URL; empty: none
	KubeAPIServerCAFile      string
	AuthenticationKubeconfig string // empty: the service account of the Pod
	ProxyClientCertFile      string
	ProxyClientKeyFile       string
	ForwardResources         []string // plurals with their groups, whose reads KubeAPIServer answers too

	CORSAllowedOrigins []string
	AllowedHosts       []string

	MaxRequestsInflight         int // zero: no limit
	MaxMutatingRequestsInflight int // zero: no limit
	MaxWatches                  int // zero: no limit
	MaxWatchesPerUser           int // zero: no limit
	MaxConnectionsPerAddress    int // zero: no limit

	AuditLogPath string // "-": stdout
	AuditLevel   string // an audit.Level

	EtcdEndpoints    []string
	EtcdCACert       string
	EtcdCert         string
	EtcdKey          string
	EtcdUser         string
	EtcdPasswordFile string
	EtcdPrefix       string
	Writable         bool
	Adopt            bool

	EncryptionProviderConfig string // a file; empty: values are stored as they are
	EncryptionKeys           []string

	Mounts []mount.Mount // only in the file

	Keys         []string
	KeysWritable []string

	DataDir           string
	EmbeddedClientURL string // or NoClientURL
	EmbeddedConfig    string

	Cluster bool // a kube-apiserver stores the resources

	History                  time.Duration // zero: never compact
	HistoryDir               string        // of the journal; empty: none
	HistoryResources         []string      // of the journal; empty: all; one empty text: none; a leading - excludes
	HistoryKeys              []string      // of the journal; empty: Keys and KeysWritable; one empty text: none; a leading - excludes
	HistoryFrom              string        // URL of the gateway whose journal is copied; empty: none
	HistoryFromCAFile        string        // empty: the authorities of the system
	HistoryFromCertFile      string        // empty: no client certificate
	HistoryFromKeyFile       string
	HistoryFromTokenFile     string        // empty: no credentials
	HistoryRetention         time.Duration // of the journal; zero: without end
	HistoryMaxSize           Bytes         // of the journal; zero: without bound
	GarbageCollector         bool
	ExternalGarbageCollector bool // another program collects
	GarbageCollectorLimit    int  // zero: the default of the collector
	CreateNamespaces         bool
	RequireNamespaces        bool
	ServiceClusterIPRange    []string // networks; empty: clients choose the cluster IPs
	ServiceNodePortRange     string

	OTLPEndpoint  string  // empty: no traces
	OTLPProtocol  string  // OTLPGRPC or OTLPHTTP
	TraceSampling float64 // 0 to 1

	LogFormat string // LogAuto, LogText or LogJSON
	LogLevel  slog.Level

	StartupTimeout time.Duration
	DrainDelay     time.Duration
	DrainGrace     time.Duration

	file string          // of the configuration; empty: none
	set  map[string]bool // the names of the options of a flag, the environment or the file
}

// NoClientURL is the value of Config.EmbeddedClientURL for an embedded etcd without a port.
const NoClientURL = "none"

// The values of Config.LogFormat.
const (
	LogAuto = "auto" // text on a terminal, else JSON
	LogText = "text"
	LogJSON = "json"
)

// The values of Config.OTLPProtocol, in the words of OpenTelemetry.
const (
	OTLPGRPC = "grpc"
	OTLPHTTP = "http/protobuf"
)

// Default returns the configuration without any options.
func Default() Config {
	return Config{
		Listen:            []string{"127.0.0.1:8080"},
		OIDCUsernameClaim: "sub",

		MaxRequestsInflight:         400,
		MaxMutatingRequestsInflight: 200,
		MaxWatchesPerUser:           1000,
		MaxConnectionsPerAddress:    10_000,

		AuditLevel:        "metadata",
		EtcdPrefix:        "/registry",
		KeysWritable:      []string{"*"},
		DataDir:           "revtail.etcd",
		EmbeddedClientURL: "http://127.0.0.1:2379",
		History:           time.Hour,
		HistoryRetention:  7 * 24 * time.Hour,
		HistoryMaxSize:    10 << 30,
		GarbageCollector:  true,

		ServiceNodePortRange: "30000-32767",

		OTLPProtocol:   OTLPGRPC,
		TraceSampling:  1,
		LogFormat:      LogAuto,
		LogLevel:       slog.LevelInfo,
		StartupTimeout: 30 * time.Second,
		DrainGrace:     15 * time.Second,
	}
}

// TLS reports whether the listeners speak HTTPS.
func (c Config) TLS() bool { return c.TLSCertFile != "" }

// Authenticates reports whether clients can authenticate.
func (c Config) Authenticates() bool {
	return c.ClientCAFile+c.TokenFile+c.OIDCIssuerURL+c.KubeAPIServer != ""
}

// Audiences returns the audiences of the gateway: those of the option, else the issuers of the tokens of service accounts.
func (c Config) Audiences() []string {
	if len(c.APIAudiences) > 0 {
		return c.APIAudiences
	}
	return c.ServiceAccountIssuer
}

// LimitsWatches reports whether there is a limit of watches per user or address: not for those who all are on this machine and may do
// everything.
func (c Config) LimitsWatches() bool { return c.Authenticates() || !c.Guarded() || c.PolicyFile != "" }

// LetsAnybodyIn reports whether requests without credentials are allowed.
func (c Config) LetsAnybodyIn() bool { return c.Anonymous || !c.Authenticates() }

// File returns the file of the configuration; empty: none.
func (c Config) File() string { return c.file }

// External reports whether etcd is another process.
func (c Config) External() bool { return len(c.EtcdEndpoints) > 0 }

// RecordedResources returns the names of the resources and mounts whose events the journal has, as far as the others do not exclude them.
func (c Config) RecordedResources() (included, excluded []string) {
	if included, excluded = separate(c.HistoryResources); len(included) == 0 {
		included = []string{"*.*"}
	}
	return included, excluded
}

// RecordsAllResources reports whether the journal has the events of all resources and mounts that are not excluded.
func (c Config) RecordsAllResources() bool {
	included, _ := c.RecordedResources()
	return slices.Contains(included, "*.*")
}

// RecordedKeys returns the keys and prefixes whose events the journal has beside those of resources and mounts, as far as the others do not exclude them.
func (c Config) RecordedKeys() (included, excluded []string) {
	if included, excluded = separate(c.HistoryKeys); len(included) == 0 {
		included = slices.DeleteFunc(slices.Concat(c.Keys, c.KeysWritable), func(key string) bool {
			return key == "*" || strings.HasPrefix(key, c.EtcdPrefix+"/") // a watch of every key would need a prefix without bytes; resources are not chosen here
		})
	}
	return slices.DeleteFunc(included, func(key string) bool { return key == "" }), excluded
}

// separate separates what a leading - excludes.
func separate(names []string) (included, excluded []string) {
	for _, name := range names {
		if rest, ok := strings.CutPrefix(name, "-"); ok {
			excluded = append(excluded, rest)
		} else {
			included = append(included, name)
		}
	}
	return included, excluded
}
