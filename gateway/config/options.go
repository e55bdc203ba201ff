package config

import (
	"slices"
	"strings"
)

// option is one option of a Config. Its flag, environment variable, key in the file, and lines in --help and --print-config follow from it.
type option struct {
	name  string // of the flag
	group string // its heading in --help and in the reference: one of groups
	field any    // a pointer to its field, see value
	usage string // for --help; the word in backquotes is the name of the value
}

// The groups of the options.
const (
	listening      = "Listening and TLS"
	authentication = "Authentication"
	authorization  = "Authorization and audit"
	kubeAPIServer  = "In front of a kube-apiserver"
	etcd           = "etcd"
	embeddedEtcd   = "Embedded etcd"
	data           = "Data and keys"
	limits         = "Limits"
	observability  = "Observability"
	lifecycle      = "Lifecycle"
)

// groups are in the order of --help.
var groups = []string{listening, authentication, authorization, kubeAPIServer, etcd, embeddedEtcd, data, limits, observability, lifecycle}

// options returns the options of the fields of c.
func (c *Config) options() []option {
	return slices.Concat(c.accessOptions(), c.kubeAPIServerOptions(), c.etcdOptions(), c.processOptions())
}

// accessOptions are the options about the listeners, and about who may do what.
func (c *Config) accessOptions() []option {
	return []option{
		{"listen", listening, &c.Listen, "HTTP `address` host:port, where port 0 is any free one, or unix:///path of a socket that only the user of this process may open; may be repeated"},
		{"anonymous", authentication, &c.Anonymous, "allow requests without credentials, as system:anonymous, subject to --policy-file"},
		{"admin-listen", listening, &c.AdminListen, "loopback `address` host:port, or unix:///path, of a listener for operators, plain HTTP without authentication: /debug/watchers, /debug/flows, /debug/pprof/ and /metrics; none: no such listener, and /debug/watchers and /debug/flows are at --listen if that has only loopback addresses or --policy-file is set"},
		{"tls-cert-file", listening, &c.TLSCertFile, "PEM `file` of the server's certificate, followed by intermediate certificates; makes every --listen address HTTPS, except unix sockets"},
		{"tls-private-key-file", listening, &c.TLSPrivateKeyFile, "PEM `file` of the key of this certificate; both files are read again when they change, and at SIGHUP"},
		{"client-ca-file", authentication, &c.ClientCAFile, "PEM `file` of authorities for certificates of clients: the common name is the user, the organizations are the groups"},
		{"token-file", authentication, &c.TokenFile, "YAML `file` of the digests of tokens and their users; 'revtail token' adds entries"},
		{"oidc-issuer-url", authentication, &c.OIDCIssuerURL, "https `URL` of an OpenID Connect issuer whose signed tokens are accepted"},
		{"oidc-client-id", authentication, &c.OIDCClientID, "`audience` that these tokens must have"},
		{"oidc-ca-file", authentication, &c.OIDCCAFile, "PEM `file` of the authorities of the issuer's certificate, read again when it changes, and at SIGHUP; none: the authorities of the system"},
		{"oidc-username-claim", authentication, &c.OIDCUsernameClaim, "`claim` with the user"},
		{"oidc-username-prefix", authentication, &c.OIDCUsernamePrefix, "prefix `text` of user names; none: the issuer's URL and #, unless the claim is email; -: no prefix"},
		{"oidc-groups-claim", authentication, &c.OIDCGroupsClaim, "`claim` with the groups; none: users of the issuer have no groups"},
		{"oidc-groups-prefix", authentication, &c.OIDCGroupsPrefix, "prefix `text` of group names"},
		{"service-account-issuer", authentication, &c.ServiceAccountIssuer, "`issuer` of the tokens of service accounts, best the https URL of this gateway for its clients, so that other programs can verify tokens by OpenID Connect discovery; may be repeated: the first one is in new tokens, all are accepted; none: there are no such tokens"},
		{"service-account-signing-key-file", authentication, &c.ServiceAccountSigningKeyFile, "PEM `file` of the private key that signs these tokens, of RSA or of a curve P-256, P-384 or P-521, the same for all replicas; read again when it changes, and at SIGHUP; none: tokens are only verified"},
		{"service-account-key-file", authentication, &c.ServiceAccountKeyFile, "PEM `files` of further public or private keys that verify these tokens, as of an earlier signing key; may be repeated; read again when they change, and at SIGHUP"},
		{"service-account-max-token-expiration", authentication, &c.ServiceAccountMaxTokenExpiration, "the longest validity of a new token of a service account, at least 10m: a request for more gets this much; 0: 2^32 seconds"},
		{"api-audiences", authentication, &c.APIAudiences, "`audiences` of this gateway, comma separated: a token of a service account must have one of them, and new tokens have them unless the request names others; none: the issuers of --service-account-issuer"},
		{"policy-file", authorization, &c.PolicyFile, "YAML `file` with Roles, ClusterRoles and their bindings, as in Kubernetes: requests that they do not allow are denied; none: every client may do everything"},
		{"cors-allowed-origins", listening, &c.CORSAllowedOrigins, "`origins` of pages that may send requests from a browser, as https://example.com, comma separated"},
		{"allowed-hosts", listening, &c.AllowedHosts, "host `names`, in addition to localhost, that requests to --admin-listen and requests without credentials may use for a loopback address or a unix socket, as those of a proxy, comma separated"},
		{"max-requests-inflight", limits, &c.MaxRequestsInflight, "`number` of requests in flight, without watches and long polls: a user has half of them at most, and a quarter while others need them; further requests wait up to 10 s, then get 429; 0: no limit"},
		{"max-mutating-requests-inflight", limits, &c.MaxMutatingRequestsInflight, "`number` of writes in flight to etcd, shared in the same way; 0: no limit"},
		{"max-watches", limits, &c.MaxWatches, "`number` of open watches and long polls, shared in the same way, but further ones get 429 at once; 0: no limit"},
		{"max-watches-per-user", limits, &c.MaxWatchesPerUser, "maximum `number` of open watches and long polls per user, or per address without a user, also with --anonymous; 0: no limit"},
		{"max-connections-per-address", limits, &c.MaxConnectionsPerAddress, "maximum `number` of open connections per address other than loopback and unix sockets; 0: no limit"},
		{"audit-log-path", authorization, &c.AuditLogPath, "`file` of the audit log, one line of JSON for each request; -: stdout; opened again at SIGHUP; none: no audit log"},
		{"audit-level", authorization, &c.AuditLevel, "`level` of the audit log: none, metadata, or request (also the query and the size of the body); never values or credentials"},
	}
}

// kubeAPIServerOptions are the options about the kube-apiserver that decides about requests, and answers those that this server does not.
func (c *Config) kubeAPIServerOptions() []option {
	return []option{
		{"kube-apiserver", kubeAPIServer, &c.KubeAPIServer, "https `URL` of a kube-apiserver: it decides by TokenReview and SubjectAccessReview who may read here, and gets every request that is no get, list or watch of a resource, with the identity of its client; none: this server decides and answers everything"},
		{"kube-apiserver-ca-file", kubeAPIServer, &c.KubeAPIServerCAFile, "PEM `file` of the authorities of its certificate, as /etc/kubernetes/pki/ca.crt; read again when it changes, and at SIGHUP; none: those of the kubeconfig, or of the system"},
		{"authentication-kubeconfig", kubeAPIServer, &c.AuthenticationKubeconfig, "kubeconfig `file` with the user of this server, bound to the ClusterRole system:auth-delegator, which creates the TokenReviews and SubjectAccessReviews; read again when it changes, and at SIGHUP; none: the service account of the Pod"},
		{"proxy-client-cert-file", kubeAPIServer, &c.ProxyClientCertFile, "PEM `file` of the front-proxy certificate, as /etc/kubernetes/pki/front-proxy-client.crt, with which requests of clients with a certificate (--client-ca-file) are forwarded"},
		{"proxy-client-key-file", kubeAPIServer, &c.ProxyClientKeyFile, "PEM `file` of its key, as /etc/kubernetes/pki/front-proxy-client.key; both files are read again when they change, and at SIGHUP"},
		{"forward-resources", kubeAPIServer, &c.ForwardResources, "built-in `resources` whose gets, lists and watches the kube-apiserver answers too, because it keeps them in another etcd (its --etcd-servers-overrides), comma separated, named as events or leases.coordination.k8s.io; events are those of events.k8s.io as well"},
	}
}

// etcdOptions are the options about etcd, its data and its history.
func (c *Config) etcdOptions() []option {
	return []option{
		{"etcd-endpoints", etcd, &c.EtcdEndpoints, "external etcd: `URLs` or host:port, comma separated; none: an etcd in this process"},
		{"etcd-cacert", etcd, &c.EtcdCACert, "external etcd: PEM `file` of the authorities of its certificate"},
		{"etcd-cert", etcd, &c.EtcdCert, "external etcd: PEM `file` of the client certificate"},
		{"etcd-key", etcd, &c.EtcdKey, "external etcd: PEM `file` of the client certificate's key; both files are read again when they change, and at SIGHUP"},
		{"etcd-user", etcd, &c.EtcdUser, "user `name` for the login to etcd, if etcd has authentication"},
		{"etcd-password-file", etcd, &c.EtcdPasswordFile, "`file` whose content is the password of --etcd-user; it is read again when it changes, and at SIGHUP"},
		{"etcd-prefix", data, &c.EtcdPrefix, "`path` of the resources in etcd"},
		{"cluster", data, &c.Cluster, "serve the objects of a Kubernetes cluster from its own etcd as its kube-apiserver does, read-only: they are decoded as a kube-apiserver 1.37 stores them, and revtail writes nothing to this etcd; needs --etcd-endpoints"},
		{"writable", data, &c.Writable, "allow clients to write data under --etcd-prefix that revtail does not own; revtail itself writes nothing there. Refused for data of a kube-apiserver"},
		{"adopt", data, &c.Adopt, "make revtail the owner of the data under --etcd-prefix: from then on it deletes objects whose owners are gone and the content of deleted namespaces and CustomResourceDefinitions, and writes the status of CustomResourceDefinitions. Refused for data of a kube-apiserver"},
		{"keys", data, &c.Keys, "`keys`, and prefixes that end with /, comma separated, that can be read and watched at /v1/keys; \"*\": all keys; \"\": none"},
		{"keys-writable", data, &c.KeysWritable, "`keys` and prefixes that can be read and written at /v1/keys, except the keys of resources. The default applies without --keys, if --listen has only loopback addresses or --policy-file is set; otherwise it is none"},
		{"encryption-provider-config", data, &c.EncryptionProviderConfig, "YAML `file` with an EncryptionConfiguration, as of a kube-apiserver: how the values of which resources are encrypted in etcd; it is read again when it changes, and at SIGHUP; none: values are stored as they are"},
		{"encryption-keys", data, &c.EncryptionKeys, "`keys`, and prefixes that end with /, comma separated, whose values are encrypted with the providers of the resource keys.revtail in this file; other programs cannot read them"},
		{"data-dir", embeddedEtcd, &c.DataDir, "embedded etcd: data `directory`"},
		{"embedded-client-url", embeddedEtcd, &c.EmbeddedClientURL, "embedded etcd: loopback `URL` for etcdctl, without authentication; port 0 is any free one; none, which is the default with authentication or --policy-file: no port, but a socket that only the user of this process may open, client/etcd.sock in --data-dir"},
		{"embedded-config", embeddedEtcd, &c.EmbeddedConfig, "embedded etcd: a complete etcd configuration `file`, for clusters, TLS and peers"},
		{"history", data, &c.History, "how long old revisions are kept before they are compacted; 0: without end, which is the default with --etcd-endpoints"},
		{"history-dir", data, &c.HistoryDir, "`directory` of a journal with all events of the resources, mounts and --keys, or of those that --history-resources and --history-keys choose, so that lists and watches at revisions that etcd has compacted are still answered; of Secrets whose values are not encrypted only the revisions are kept; none: no journal"},
		{"history-resources", data, &c.HistoryResources, "`resources` and mounts whose events the journal has, comma separated, named as configmaps, deployments.apps, *.apps for a group, *. for the core group and *.* for all; a leading - excludes, as -events; \"\": none; the default is all, but for those that are excluded"},
		{"history-keys", data, &c.HistoryKeys, "`keys`, and prefixes that end with /, comma separated, whose events the journal has; a leading - excludes, as -/app/cache/; \"\": none; the default is those of --keys and --keys-writable, but not \"*\""},
		{"history-from", data, &c.HistoryFrom, "`URL` of another gateway of the same etcd, as https://revtail-0:8443, whose journal is copied at the start if --history-dir has none yet; the gateway serves without a journal meanwhile, and tries again until it has the copy; none: the journal begins empty"},
		{"history-from-ca-file", data, &c.HistoryFromCAFile, "PEM `file` of the authorities of its certificate; none: those of the system"},
		{"history-from-cert-file", data, &c.HistoryFromCertFile, "PEM `file` of a client certificate for it, whose user may get /v1/history/export; none: the request has none"},
		{"history-from-key-file", data, &c.HistoryFromKeyFile, "PEM `file` of the key of this certificate; both files are read at each attempt"},
		{"history-from-token-file", data, &c.HistoryFromTokenFile, "`file` with a bearer token for it, whose user may get /v1/history/export; none: the request has no token"},
		{"history-retention", data, &c.HistoryRetention, "how long the journal keeps events, as 7d; 0: without end"},
		{"history-max-size", data, &c.HistoryMaxSize, "how many `bytes` the journal takes on the disk, as 10GiB: the oldest events are deleted first; 0: without bound"},
		{"create-namespaces", data, &c.CreateNamespaces, "create the namespaces default and kube-system at the start, as a kube-apiserver does, for programs that read them before they write; otherwise the first object of any namespace brings them"},
		{"require-namespaces", data, &c.RequireNamespaces, "refuse to create objects in a namespace that does not exist, as a cluster does, and create the namespaces default, kube-system, kube-public and kube-node-lease; otherwise the first object of a namespace brings it"},
		{"service-cluster-ip-range", data, &c.ServiceClusterIPRange, "`network` for the cluster IPs of Services, as 10.96.0.0/16, or one of IPv4 and one of IPv6, comma separated: a Service gets its IPs and node ports from this gateway, as in a cluster, and no other one has them; ServiceCIDRs add networks; none: a Service has those that its client sets"},
		{"service-node-port-range", data, &c.ServiceNodePortRange, "first and last `port` for the node ports of Services"},
		{"garbage-collector", data, &c.GarbageCollector, "delete objects whose owners in ownerReferences are all gone"},
		{"external-garbage-collector", data, &c.ExternalGarbageCollector, "kube-controller-manager, or another program, deletes such objects, what is in deleted namespaces, and the dependents of what is deleted with the policies Orphan and Foreground; keeps the status of ResourceQuotas and ServiceCIDRs; and makes the ServiceAccount default of each namespace, without which a Pod is then refused; a Pod on a node stays until its kubelet deletes it; needs --garbage-collector=false"},
		{"garbage-collector-limit", data, &c.GarbageCollectorLimit, "`number` of objects that are deleted in an hour because their owners are gone without a DELETE request; more such objects stop the collector until an operator decides. 0: 100, and no more than a tenth of a resource"},
	}
}

// processOptions are the options about traces, the log, and the start and the end of the process.
func (c *Config) processOptions() []option {
	return []option{
		{"otlp-endpoint", observability, &c.OTLPEndpoint, "`URL` of an OpenTelemetry collector, as http://127.0.0.1:4317, or https:// with TLS: receives traces of requests; OTEL_EXPORTER_OTLP_HEADERS and OTEL_EXPORTER_OTLP_CERTIFICATE in the environment apply; none: no traces"},
		{"otlp-protocol", observability, &c.OTLPProtocol, "`protocol` of this collector: grpc, usually at port 4317, or http/protobuf, at port 4318, with v1/traces below the URL; the default is OTEL_EXPORTER_OTLP_PROTOCOL in the environment, if set"},
		{"trace-sampling", observability, &c.TraceSampling, "`share` from 0 to 1 of the requests to trace; a client may decide for itself (traceparent)"},
		{"log-format", observability, &c.LogFormat, "`format` of the log on stderr: auto (text on a terminal, else json), text or json"},
		{"log-level", observability, &c.LogLevel, "`level` of the log: debug, info, warn or error"},
		{"startup-timeout", lifecycle, &c.StartupTimeout, "how long to wait for etcd at the start"},
		{"drain-delay", lifecycle, &c.DrainDelay, "after SIGTERM: how long to continue serving while /readyz fails, so that load balancers notice"},
		{"drain-grace", lifecycle, &c.DrainGrace, "after that: the timeout of requests in progress"},
	}
}

// optionsOf returns the options of a group.
func optionsOf(group string) []option {
	return slices.DeleteFunc(new(Config).options(), func(o option) bool { return o.group != group })
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
