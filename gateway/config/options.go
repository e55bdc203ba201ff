package config

import "strings"

// option is one line of the configuration. Everything about it follows from this: flag, environment variable, key in
// the file, line in --help and in --print-config.
type option struct {
	name  string              // of the flag
	usage string              // what --help says; the word in backquotes stands for the value
	value func(*Config) value // where it is kept
}

var options = []option{
	{"listen", "HTTP `address` host:port; port 0 is any free one; may be repeated",
		func(c *Config) value { return &listValue{at: &c.Listen} }},
	{"anonymous", "let in who does not show who they are, as system:anonymous: on any --listen address, and beside authentication for what --policy-file allows them",
		func(c *Config) value { return (*boolValue)(&c.Anonymous) }},

	{"admin-listen", "loopback `address` host:port of a listener for operators alone, plain HTTP without authentication: /debug/watchers, /debug/pprof/ and /metrics; none: there is none, and /debug/watchers is at --listen if that has loopback addresses only or there is a --policy-file",
		func(c *Config) value { return (*textValue)(&c.AdminListen) }},

	{"tls-cert-file", "PEM `file` of the server's certificate, followed by those between it and its authority: every --listen address is HTTPS then",
		func(c *Config) value { return (*textValue)(&c.TLSCertFile) }},
	{"tls-private-key-file", "PEM `file` of that certificate's key; these files are read again when they change, and at SIGHUP",
		func(c *Config) value { return (*textValue)(&c.TLSPrivateKeyFile) }},
	{"client-ca-file", "PEM `file` of authorities for certificates of clients: the common name is the user, the organizations are the groups",
		func(c *Config) value { return (*textValue)(&c.ClientCAFile) }},

	{"token-file", "YAML `file` of the digests of tokens, and whose they are; 'revtail token' makes them",
		func(c *Config) value { return (*textValue)(&c.TokenFile) }},
	{"oidc-issuer-url", "https `URL` of an OpenID Connect issuer whose signed tokens are accepted",
		func(c *Config) value { return (*textValue)(&c.OIDCIssuerURL) }},
	{"oidc-client-id", "`audience` that these tokens must be made for",
		func(c *Config) value { return (*textValue)(&c.OIDCClientID) }},
	{"oidc-ca-file", "PEM `file` of the authorities that the issuer's certificate is checked with, read again when it changes, and at SIGHUP; none: those of the system",
		func(c *Config) value { return (*textValue)(&c.OIDCCAFile) }},
	{"oidc-username-claim", "`claim` that is the user",
		func(c *Config) value { return (*textValue)(&c.OIDCUsernameClaim) }},
	{"oidc-username-prefix", "`text` before the names of users; none: the issuer's URL and #, unless the claim is email; -: nothing",
		func(c *Config) value { return (*textValue)(&c.OIDCUsernamePrefix) }},
	{"oidc-groups-claim", "`claim` that is the groups; none: users of the issuer have no groups",
		func(c *Config) value { return (*textValue)(&c.OIDCGroupsClaim) }},
	{"oidc-groups-prefix", "`text` before the names of groups",
		func(c *Config) value { return (*textValue)(&c.OIDCGroupsPrefix) }},
	{"policy-file", "YAML `file` of Kubernetes' Roles, ClusterRoles and their bindings: what they do not allow is denied; none: whoever is let in may do everything",
		func(c *Config) value { return (*textValue)(&c.PolicyFile) }},

	{"cors-allowed-origins", "`origins` of pages that may read and write here from a browser, as https://example.com, comma separated",
		func(c *Config) value { return &listValue{at: &c.CORSAllowedOrigins} }},
	{"allowed-hosts", "`names` by which requests without a credential may reach a loopback address beside localhost, as those of a proxy, comma separated",
		func(c *Config) value { return &listValue{at: &c.AllowedHosts} }},

	{"max-watches-per-user", "`number` of watches that one user may have open, or one address without a user; 0: no limit",
		func(c *Config) value { return (*countValue)(&c.MaxWatchesPerUser) }},

	{"max-connections-per-address", "`number` of connections that one address other than loopback may have open; 0: no limit",
		func(c *Config) value { return (*countValue)(&c.MaxConnectionsPerAddress) }},
	{"audit-log-path", "`file` of the audit log, one line of JSON for each request; -: stdout; opened again at SIGHUP; none: there is no audit log",
		func(c *Config) value { return (*textValue)(&c.AuditLogPath) }},
	{"audit-level", "how much it says, a `level`: none, metadata, or request (the query and the size of the body too); never a value or a credential",
		func(c *Config) value { return (*textValue)(&c.AuditLevel) }},

	{"etcd-endpoints", "external etcd: `URLs` or host:port, comma separated; none: an etcd in this process",
		func(c *Config) value { return &listValue{at: &c.EtcdEndpoints} }},
	{"etcd-cacert", "external etcd: PEM `file` of the authorities that its certificate is checked with",
		func(c *Config) value { return (*textValue)(&c.EtcdCACert) }},
	{"etcd-cert", "external etcd: PEM `file` of the client certificate",
		func(c *Config) value { return (*textValue)(&c.EtcdCert) }},
	{"etcd-key", "external etcd: PEM `file` of the client certificate's key; these files are read again when they change, and at SIGHUP",
		func(c *Config) value { return (*textValue)(&c.EtcdKey) }},
	{"etcd-user", "`name` to log in to etcd with, when etcd has authentication enabled",
		func(c *Config) value { return (*textValue)(&c.EtcdUser) }},
	{"etcd-password-file", "`file` whose content is the password of --etcd-user; it is read again when it changes, and at SIGHUP",
		func(c *Config) value { return (*textValue)(&c.EtcdPasswordFile) }},
	{"etcd-prefix", "where in etcd resources live: a `path`",
		func(c *Config) value { return (*textValue)(&c.EtcdPrefix) }},
	{"writable", "carry out clients' writes to data under --etcd-prefix that is not revtail's own; revtail itself writes nothing there. Refused on data of a kube-apiserver",
		func(c *Config) value { return (*boolValue)(&c.Writable) }},
	{"adopt", "make the data under --etcd-prefix revtail's own: from then on revtail deletes objects there whose owners are gone, empties what is being deleted, and writes the status of CustomResourceDefinitions. Refused on data of a kube-apiserver",
		func(c *Config) value { return (*boolValue)(&c.Adopt) }},
	{"keys", "`keys`, and prefixes that end with /, comma separated, that can be read and watched at /v1/keys; \"*\": every key; \"\": none.",
		func(c *Config) value { return &listValue{at: &c.Keys} }},
	{"keys-writable", "`keys` and prefixes that can be read and written at /v1/keys; those of resources cannot be written. The default holds where --keys names none, and --listen has loopback addresses only or there is a --policy-file; elsewhere it is none",
		func(c *Config) value { return &listValue{at: &c.KeysWritable} }},

	{"data-dir", "embedded etcd: data `directory`",
		func(c *Config) value { return (*textValue)(&c.DataDir) }},
	{"embedded-client-url", "embedded etcd: loopback `URL` where etcdctl reaches it; port 0 is any free one",
		func(c *Config) value { return (*textValue)(&c.EmbeddedClientURL) }},
	{"embedded-config", "embedded etcd: a whole etcd configuration `file`, for clusters, TLS and peers",
		func(c *Config) value { return (*textValue)(&c.EmbeddedConfig) }},

	{"history", "how long old revisions stay before they are compacted; 0: for ever, which is the default with --etcd-endpoints",
		func(c *Config) value { return (*durationValue)(&c.History) }},
	{"garbage-collector", "delete objects whose owners, by their ownerReferences, are all gone; false where another program does that",
		func(c *Config) value { return (*boolValue)(&c.GarbageCollector) }},

	{"garbage-collector-limit", "`number` of objects that are deleted in an hour because their owners are gone where nobody sent a DELETE request for an owner; what is more stops the collector until an operator looks. 0: 100, and no more than a tenth of a resource",
		func(c *Config) value { return (*countValue)(&c.GarbageCollectorLimit) }},

	{"otlp-endpoint", "`URL` of an OpenTelemetry collector, as http://127.0.0.1:4317, or https:// with TLS: gets traces of requests; OTEL_EXPORTER_OTLP_HEADERS and OTEL_EXPORTER_OTLP_CERTIFICATE in the environment are honoured; none: there are no traces",
		func(c *Config) value { return (*textValue)(&c.OTLPEndpoint) }},
	{"otlp-protocol", "`protocol` that this collector takes there: grpc, by custom at port 4317, or http/protobuf, at port 4318, which is sent to v1/traces below the URL; OTEL_EXPORTER_OTLP_PROTOCOL in the environment is honoured where this option is not given",
		func(c *Config) value { return (*textValue)(&c.OTLPProtocol) }},
	{"trace-sampling", "`share` from 0 to 1 of the requests that are traced, of those whose client has not decided that itself (traceparent)",
		func(c *Config) value { return (*shareValue)(&c.TraceSampling) }},

	{"log-format", "`format` of the log on stderr: auto (text on a terminal, else json), text or json",
		func(c *Config) value { return (*textValue)(&c.LogFormat) }},
	{"log-level", "`level` of the log: debug, info, warn or error",
		func(c *Config) value { return (*levelValue)(&c.LogLevel) }},

	{"startup-timeout", "how long to wait for etcd at the start",
		func(c *Config) value { return (*durationValue)(&c.StartupTimeout) }},
	{"drain-delay", "after SIGTERM: how long to serve on, with /readyz saying no, so that load balancers notice",
		func(c *Config) value { return (*durationValue)(&c.DrainDelay) }},
	{"drain-grace", "after that: how long requests under way may take to end",
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

// names are what is(o) gives for each option, after others that are known too.
func names(is func(option) string, others ...string) []string {
	for _, o := range options {
		others = append(others, is(o))
	}
	return others
}
