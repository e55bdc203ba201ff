// Package config is the configuration of the gateway: a flag, an environment variable and a key of a file for each
// option, all from one table (options.go). The mounts are a key of the file alone. A flag wins over the environment, that over the file, that over the default.
//
// No option takes a secret, only names of files that hold one: so there is nothing to mask where a configuration is
// printed, and nothing to find in a list of processes.
package config

import (
	"log/slog"
	"time"

	"revtail/gateway/api/mount"
)

// Config says what a gateway does. Flags.Load makes it, Validate judges it. Each field is an option of options.go,
// where its meaning and its flag are.
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

	CORSAllowedOrigins []string
	AllowedHosts       []string

	MaxWatchesPerUser        int // zero: no limit
	MaxConnectionsPerAddress int // zero: no limit

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

	Mounts []mount.Mount // of the file alone

	Keys         []string
	KeysWritable []string

	DataDir           string
	EmbeddedClientURL string
	EmbeddedConfig    string

	History               time.Duration // zero: never compact
	GarbageCollector      bool
	GarbageCollectorLimit int // zero: the collector's own

	OTLPEndpoint  string  // empty: no traces
	OTLPProtocol  string  // OTLPGRPC or OTLPHTTP
	TraceSampling float64 // 0 to 1

	LogFormat string // LogAuto, LogText or LogJSON
	LogLevel  slog.Level

	StartupTimeout time.Duration
	DrainDelay     time.Duration
	DrainGrace     time.Duration

	file string          // that was read; empty: none
	set  map[string]bool // the options, by name, that a flag, the environment or a file gave
}

// What Config.LogFormat may be.
const (
	LogAuto = "auto" // text on a terminal, else JSON
	LogText = "text"
	LogJSON = "json"
)

// What Config.OTLPProtocol may be, in the words of OpenTelemetry.
const (
	OTLPGRPC = "grpc"
	OTLPHTTP = "http/protobuf"
)

// Default is the configuration when nothing is given.
func Default() Config {
	return Config{
		Listen:            []string{"127.0.0.1:8080"},
		OIDCUsernameClaim: "sub",
		MaxWatchesPerUser: 1000,

		MaxConnectionsPerAddress: 10_000,

		AuditLevel:        "metadata",
		EtcdPrefix:        "/registry",
		KeysWritable:      []string{"*"},
		DataDir:           "revtail.etcd",
		EmbeddedClientURL: "http://127.0.0.1:2379",
		History:           time.Hour,
		GarbageCollector:  true,
		OTLPProtocol:      OTLPGRPC,
		TraceSampling:     1,
		LogFormat:         LogAuto,
		LogLevel:          slog.LevelInfo,
		StartupTimeout:    30 * time.Second,
		DrainGrace:        15 * time.Second,
	}
}

// TLS says that the listeners speak HTTPS, all of them.
func (c Config) TLS() bool { return c.TLSCertFile != "" }

// Authenticates says that clients can show who they are.
func (c Config) Authenticates() bool { return c.ClientCAFile+c.TokenFile+c.OIDCIssuerURL != "" }

// LetsAnybodyIn says that clients may come without showing who they are.
func (c Config) LetsAnybodyIn() bool { return c.Anonymous || !c.Authenticates() }

// File is the file that a part of the configuration came from; empty: there was none.
func (c Config) File() string { return c.file }

// External says that etcd is not in this process.
func (c Config) External() bool { return len(c.EtcdEndpoints) > 0 }
