package config

import (
	"slices"
	"strings"
)

// option is one option of a Config. Its flag, environment variable, key in the file, and lines in --help and --print-config follow from it.
type option struct {
	name  string // of the flag
	field any    // a pointer to its field, see value
	usage string // for --help; the word in backquotes is the name of the value
}

// options returns the options of the fields of c, in the order of --help.
func (c *Config) options() []option {
	return slices.Concat(c.accessOptions(), c.etcdOptions(), c.processOptions())
}

// accessOptions are the options about the listeners, and about who may do what.
func (c *Config) accessOptions() []option {
	return []option{
		{"listen", &c.Listen, "HTTP `address` host:port, where port 0 is any free one, or unix:///path of a socket that only the user of this process may open; may be repeated"},
		{"anonymous", &c.Anonymous, "allow requests without credentials, as system:anonymous, subject to --policy-file"},
		{"admin-listen", &c.AdminListen, "loopback `address` host:port, or unix:///path, of a listener for operators, plain HTTP without authentication: /debug/watchers, /debug/flows, /debug/pprof/ and /metrics; none: no such listener, and /debug/watchers and /debug/flows are at --listen if that has only loopback addresses or --policy-file is set"},
		{"tls-cert-file", &c.TLSCertFile, "PEM `file` of the server's certificate, followed by intermediate certificates; makes every --listen address HTTPS, except unix sockets"},
		{"tls-private-key-file", &c.TLSPrivateKeyFile, "PEM `file` of the key of this certificate; both files are read again when they change, and at SIGHUP"},
		{"client-ca-file", &c.ClientCAFile, "PEM `file` of authorities for certificates of clients: the common name is the user, the organizations are the groups"},
		{"token-file", &c.TokenFile, "YAML `file` of the digests of tokens and their users; 'revtail token' adds entries"},
		{"oidc-issuer-url", &c.OIDCIssuerURL, "https `URL` of an OpenID Connect issuer whose signed tokens are accepted"},
		{"oidc-client-id", &c.OIDCClientID, "`audience` that these tokens must have"},
		{"oidc-ca-file", &c.OIDCCAFile, "PEM `file` of the authorities of the issuer's certificate, read again when it changes, and at SIGHUP; none: the authorities of the system"},
		{"oidc-username-claim", &c.OIDCUsernameClaim, "`claim` with the user"},
		{"oidc-username-prefix", &c.OIDCUsernamePrefix, "prefix `text` of user names; none: the issuer's URL and #, unless the claim is email; -: no prefix"},
		{"oidc-groups-claim", &c.OIDCGroupsClaim, "`claim` with the groups; none: users of the issuer have no groups"},
		{"oidc-groups-prefix", &c.OIDCGroupsPrefix, "prefix `text` of group names"},
		{"policy-file", &c.PolicyFile, "YAML `file` with Roles, ClusterRoles and their bindings, as in Kubernetes: requests that they do not allow are denied; none: every client may do everything"},
		{"cors-allowed-origins", &c.CORSAllowedOrigins, "`origins` of pages that may send requests from a browser, as https://example.com, comma separated"},
		{"allowed-hosts", &c.AllowedHosts, "host `names`, in addition to localhost, that requests to --admin-listen and requests without credentials may use for a loopback address or a unix socket, as those of a proxy, comma separated"},
		{"max-requests-inflight", &c.MaxRequestsInflight, "`number` of requests in flight, without watches and long polls: a user has half of them at most, and a quarter while others need them; further requests wait up to 10 s, then get 429; 0: no limit"},
		{"max-mutating-requests-inflight", &c.MaxMutatingRequestsInflight, "`number` of writes in flight to etcd, shared in the same way; 0: no limit"},
		{"max-watches", &c.MaxWatches, "`number` of open watches and long polls, shared in the same way, but further ones get 429 at once; 0: no limit"},
		{"max-watches-per-user", &c.MaxWatchesPerUser, "maximum `number` of open watches and long polls per user, or per address without a user, also with --anonymous; 0: no limit"},
		{"max-connections-per-address", &c.MaxConnectionsPerAddress, "maximum `number` of open connections per address other than loopback and unix sockets; 0: no limit"},
		{"audit-log-path", &c.AuditLogPath, "`file` of the audit log, one line of JSON for each request; -: stdout; opened again at SIGHUP; none: no audit log"},
		{"audit-level", &c.AuditLevel, "`level` of the audit log: none, metadata, or request (also the query and the size of the body); never values or credentials"},
	}
}

// etcdOptions are the options about etcd, its data and its history.
func (c *Config) etcdOptions() []option {
	return []option{
		{"etcd-endpoints", &c.EtcdEndpoints, "external etcd: `URLs` or host:port, comma separated; none: an etcd in this process"},
		{"etcd-cacert", &c.EtcdCACert, "external etcd: PEM `file` of the authorities of its certificate"},
		{"etcd-cert", &c.EtcdCert, "external etcd: PEM `file` of the client certificate"},
		{"etcd-key", &c.EtcdKey, "external etcd: PEM `file` of the client certificate's key; both files are read again when they change, and at SIGHUP"},
		{"etcd-user", &c.EtcdUser, "user `name` for the login to etcd, if etcd has authentication"},
		{"etcd-password-file", &c.EtcdPasswordFile, "`file` whose content is the password of --etcd-user; it is read again when it changes, and at SIGHUP"},
		{"etcd-prefix", &c.EtcdPrefix, "`path` of the resources in etcd"},
		{"writable", &c.Writable, "allow clients to write data under --etcd-prefix that revtail does not own; revtail itself writes nothing there. Refused for data of a kube-apiserver"},
		{"adopt", &c.Adopt, "make revtail the owner of the data under --etcd-prefix: from then on it deletes objects whose owners are gone and the content of deleted namespaces and CustomResourceDefinitions, and writes the status of CustomResourceDefinitions. Refused for data of a kube-apiserver"},
		{"keys", &c.Keys, "`keys`, and prefixes that end with /, comma separated, that can be read and watched at /v1/keys; \"*\": all keys; \"\": none"},
		{"keys-writable", &c.KeysWritable, "`keys` and prefixes that can be read and written at /v1/keys, except the keys of resources. The default applies without --keys, if --listen has only loopback addresses or --policy-file is set; otherwise it is none"},
		{"encryption-provider-config", &c.EncryptionProviderConfig, "YAML `file` with an EncryptionConfiguration, as of a kube-apiserver: how the values of which resources are encrypted in etcd; it is read again when it changes, and at SIGHUP; none: values are stored as they are"},
		{"encryption-keys", &c.EncryptionKeys, "`keys`, and prefixes that end with /, comma separated, whose values are encrypted with the providers of the resource keys.revtail in this file; other programs cannot read them"},
		{"data-dir", &c.DataDir, "embedded etcd: data `directory`"},
		{"embedded-client-url", &c.EmbeddedClientURL, "embedded etcd: loopback `URL` for etcdctl, without authentication; port 0 is any free one; none, which is the default with authentication or --policy-file: no port, but a socket that only the user of this process may open, client/etcd.sock in --data-dir"},
		{"embedded-config", &c.EmbeddedConfig, "embedded etcd: a complete etcd configuration `file`, for clusters, TLS and peers"},
		{"history", &c.History, "how long old revisions are kept before they are compacted; 0: without end, which is the default with --etcd-endpoints"},
		{"garbage-collector", &c.GarbageCollector, "delete objects whose owners in ownerReferences are all gone; false if another program does that"},
		{"garbage-collector-limit", &c.GarbageCollectorLimit, "`number` of objects that are deleted in an hour because their owners are gone without a DELETE request; more such objects stop the collector until an operator decides. 0: 100, and no more than a tenth of a resource"},
	}
}

// processOptions are the options about traces, the log, and the start and the end of the process.
func (c *Config) processOptions() []option {
	return []option{
		{"otlp-endpoint", &c.OTLPEndpoint, "`URL` of an OpenTelemetry collector, as http://127.0.0.1:4317, or https:// with TLS: receives traces of requests; OTEL_EXPORTER_OTLP_HEADERS and OTEL_EXPORTER_OTLP_CERTIFICATE in the environment apply; none: no traces"},
		{"otlp-protocol", &c.OTLPProtocol, "`protocol` of this collector: grpc, usually at port 4317, or http/protobuf, at port 4318, with v1/traces below the URL; the default is OTEL_EXPORTER_OTLP_PROTOCOL in the environment, if set"},
		{"trace-sampling", &c.TraceSampling, "`share` from 0 to 1 of the requests to trace; a client may decide for itself (traceparent)"},
		{"log-format", &c.LogFormat, "`format` of the log on stderr: auto (text on a terminal, else json), text or json"},
		{"log-level", &c.LogLevel, "`level` of the log: debug, info, warn or error"},
		{"startup-timeout", &c.StartupTimeout, "how long to wait for etcd at the start"},
		{"drain-delay", &c.DrainDelay, "after SIGTERM: how long to continue serving while /readyz fails, so that load balancers notice"},
		{"drain-grace", &c.DrainGrace, "after that: the timeout of requests in progress"},
	}
}

// env is the option's environment variable.
func (o option) env() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(o.name, "-", "_"))
}

// key is the option's key in the file: the flag in camel case, as etcdEndpoints.
func (o option) key() string {
	words := strings.Split(o.name, "-")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// findOption returns the option for which is(o) equals s.
func findOption(is func(option) string, s string) (found option, ok bool) {
	options := new(Config).options()
	i := slices.IndexFunc(options, func(o option) bool { return is(o) == s })
	if i < 0 {
		return option{}, false
	}
	return options[i], true
}

// names returns is(o) of each option, after other known names.
func names(is func(option) string, others ...string) []string {
	for _, o := range new(Config).options() {
		others = append(others, is(o))
	}
	return others
}
