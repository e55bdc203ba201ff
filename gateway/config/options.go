package config

import "strings"

// option is one option. Its flag, environment variable, key in the file, and lines in --help and --print-config follow from it.
type option struct {
	name  string              // of the flag
	usage string              // for --help; the word in backquotes is the name of the value
	value func(*Config) value // its field
}

var options = []option{
	{"listen", "HTTP `address` host:port; port 0 is any free one; may be repeated",
		func(c *Config) value { return &listValue{at: &c.Listen} }},
	{"anonymous", "allow requests without credentials, as system:anonymous, subject to --policy-file",
		func(c *Config) value { return (*boolValue)(&c.Anonymous) }},

	{"admin-listen", "loopback `address` host:port of a listener for operators, plain HTTP without authentication: /debug/watchers, /debug/pprof/ and /metrics; none: no such listener, and /debug/watchers is at --listen if that has only loopback addresses or --policy-file is set",
		func(c *Config) value { return (*textValue)(&c.AdminListen) }},

	{"tls-cert-file", "PEM `file` of the server's certificate, followed by intermediate certificates; makes every --listen address HTTPS",
		func(c *Config) value { return (*textValue)(&c.TLSCertFile) }},
	{"tls-private-key-file", "PEM `file` of the key of this certificate; both files are read again when they change, and at SIGHUP",
		func(c *Config) value { return (*textValue)(&c.TLSPrivateKeyFile) }},
	{"client-ca-file", "PEM `file` of authorities for certificates of clients: the common name is the user, the organizations are the groups",
		func(c *Config) value { return (*textValue)(&c.ClientCAFile) }},

	{"token-file", "YAML `file` of the digests of tokens and their users; 'revtail token' adds entries",
		func(c *Config) value { return (*textValue)(&c.TokenFile) }},
	{"oidc-issuer-url", "https `URL` of an OpenID Connect issuer whose signed tokens are accepted",
		func(c *Config) value { return (*textValue)(&c.OIDCIssuerURL) }},
	{"oidc-client-id", "`audience` that these tokens must have",
		func(c *Config) value { return (*textValue)(&c.OIDCClientID) }},
	{"oidc-ca-file", "PEM `file` of the authorities of the issuer's certificate, read again when it changes, and at SIGHUP; none: the authorities of the system",
		func(c *Config) value { return (*textValue)(&c.OIDCCAFile) }},
	{"oidc-username-claim", "`claim` with the user",
		func(c *Config) value { return (*textValue)(&c.OIDCUsernameClaim) }},
	{"oidc-username-prefix", "prefix `text` of user names; none: the issuer's URL and #, unless the claim is email; -: no prefix",
		func(c *Config) value { return (*textValue)(&c.OIDCUsernamePrefix) }},
	{"oidc-groups-claim", "`claim` with the groups; none: users of the issuer have no groups",
		func(c *Config) value { return (*textValue)(&c.OIDCGroupsClaim) }},
	{"oidc-groups-prefix", "prefix `text` of group names",
		func(c *Config) value { return (*textValue)(&c.OIDCGroupsPrefix) }},
	{"policy-file", "YAML `file` with Roles, ClusterRoles and their bindings, as in Kubernetes: requests that they do not allow are denied; none: every client may do everything",
		func(c *Config) value { return (*textValue)(&c.PolicyFile) }},

	{"cors-allowed-origins", "`origins` of pages that may send requests from a browser, as https://example.com, comma separated",
		func(c *Config) value { return &listValue{at: &c.CORSAllowedOrigins} }},
	{"allowed-hosts", "host `names`, in addition to localhost, that requests without credentials may use for a loopback address, as those of a proxy, comma separated",
		func(c *Config) value { return &listValue{at: &c.AllowedHosts} }},

	{"max-watches-per-user", "maximum `number` of open watches per user, or per address without a user; 0: no limit",
		func(c *Config) value { return (*countValue)(&c.MaxWatchesPerUser) }},

	{"max-connections-per-address", "maximum `number` of open connections per address other than loopback; 0: no limit",
		func(c *Config) value { return (*countValue)(&c.MaxConnectionsPerAddress) }},
	{"audit-log-path", "`file` of the audit log, one line of JSON for each request; -: stdout; opened again at SIGHUP; none: no audit log",
		func(c *Config) value { return (*textValue)(&c.AuditLogPath) }},
	{"audit-level", "`level` of the audit log: none, metadata, or request (also the query and the size of the body); never values or credentials",
		func(c *Config) value { return (*textValue)(&c.AuditLevel) }},

	{"etcd-endpoints", "external etcd: `URLs` or host:port, comma separated; none: an etcd in this process",
		func(c *Config) value { return &listValue{at: &c.EtcdEndpoints} }},
	{"etcd-cacert", "external etcd: PEM `file` of the authorities of its certificate",
		func(c *Config) value { return (*textValue)(&c.EtcdCACert) }},
	{"etcd-cert", "external etcd: PEM `file` of the client certificate",
		func(c *Config) value { return (*textValue)(&c.EtcdCert) }},
	{"etcd-key", "external etcd: PEM `file` of the client certificate's key; both files are read again when they change, and at SIGHUP",
		func(c *Config) value { return (*textValue)(&c.EtcdKey) }},
	{"etcd-user", "user `name` for the login to etcd, if etcd has authentication",
		func(c *Config) value { return (*textValue)(&c.EtcdUser) }},
	{"etcd-password-file", "`file` whose content is the password of --etcd-user; it is read again when it changes, and at SIGHUP",
		func(c *Config) value { return (*textValue)(&c.EtcdPasswordFile) }},
	{"etcd-prefix", "`path` of the resources in etcd",
		func(c *Config) value { return (*textValue)(&c.EtcdPrefix) }},
	{"writable", "allow clients to write data under --etcd-prefix that revtail does not own; revtail itself writes nothing there. Refused for data of a kube-apiserver",
		func(c *Config) value { return (*boolValue)(&c.Writable) }},
	{"adopt", "make revtail the owner of the data under --etcd-prefix: from then on it deletes objects whose owners are gone and the content of deleted namespaces and CustomResourceDefinitions, and writes the status of CustomResourceDefinitions. Refused for data of a kube-apiserver",
		func(c *Config) value { return (*boolValue)(&c.Adopt) }},
	{"keys", "`keys`, and prefixes that end with /, comma separated, that can be read and watched at /v1/keys; \"*\": all keys; \"\": none",
		func(c *Config) value { return &listValue{at: &c.Keys} }},
	{"keys-writable", "`keys` and prefixes that can be read and written at /v1/keys, except the keys of resources. The default applies without --keys, if --listen has only loopback addresses or --policy-file is set; otherwise it is none",
		func(c *Config) value { return &listValue{at: &c.KeysWritable} }},

	{"data-dir", "embedded etcd: data `directory`",
		func(c *Config) value { return (*textValue)(&c.DataDir) }},
	{"embedded-client-url", "embedded etcd: loopback `URL` for etcdctl; port 0 is any free one",
		func(c *Config) value { return (*textValue)(&c.EmbeddedClientURL) }},
	{"embedded-config", "embedded etcd: a complete etcd configuration `file`, for clusters, TLS and peers",
		func(c *Config) value { return (*textValue)(&c.EmbeddedConfig) }},

	{"history", "how long old revisions are kept before they are compacted; 0: without end, which is the default with --etcd-endpoints",
		func(c *Config) value { return (*durationValue)(&c.History) }},
	{"garbage-collector", "delete objects whose owners in ownerReferences are all gone; false if another program does that",
		func(c *Config) value { return (*boolValue)(&c.GarbageCollector) }},

	{"garbage-collector-limit", "`number` of objects that are deleted in an hour because their owners are gone without a DELETE request; more such objects stop the collector until an operator decides. 0: 100, and no more than a tenth of a resource",
		func(c *Config) value { return (*countValue)(&c.GarbageCollectorLimit) }},

	{"otlp-endpoint", "`URL` of an OpenTelemetry collector, as http://127.0.0.1:4317, or https:// with TLS: receives traces of requests; OTEL_EXPORTER_OTLP_HEADERS and OTEL_EXPORTER_OTLP_CERTIFICATE in the environment apply; none: no traces",
		func(c *Config) value { return (*textValue)(&c.OTLPEndpoint) }},
	{"otlp-protocol", "`protocol` of this collector: grpc, usually at port 4317, or http/protobuf, at port 4318, with v1/traces below the URL; the default is OTEL_EXPORTER_OTLP_PROTOCOL in the environment, if set",
		func(c *Config) value { return (*textValue)(&c.OTLPProtocol) }},
	{"trace-sampling", "`share` from 0 to 1 of the requests to trace; a client may decide for itself (traceparent)",
		func(c *Config) value { return (*shareValue)(&c.TraceSampling) }},

	{"log-format", "`format` of the log on stderr: auto (text on a terminal, else json), text or json",
		func(c *Config) value { return (*textValue)(&c.LogFormat) }},
	{"log-level", "`level` of the log: debug, info, warn or error",
		func(c *Config) value { return (*levelValue)(&c.LogLevel) }},

	{"startup-timeout", "how long to wait for etcd at the start",
		func(c *Config) value { return (*durationValue)(&c.StartupTimeout) }},
	{"drain-delay", "after SIGTERM: how long to continue serving while /readyz fails, so that load balancers notice",
		func(c *Config) value { return (*durationValue)(&c.DrainDelay) }},
	{"drain-grace", "after that: the timeout of requests in progress",
		func(c *Config) value { return (*durationValue)(&c.DrainGrace) }},
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

// findOption is the option for which is(o) equals s.
func findOption(is func(option) string, s string) (option, bool) {
	for _, o := range options {
		if is(o) == s {
			return o, true
		}
	}
	return option{}, false
}

// names returns is(o) of each option, after other known names.
func names(is func(option) string, others ...string) []string {
	for _, o := range options {
		others = append(others, is(o))
	}
	return others
}
