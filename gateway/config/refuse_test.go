package config

import (
	"strings"
	"testing"
)

// refusal is a configuration, and what its error must contain: the wrong name, and the remedy.
type refusal struct {
	name          string
	args, environ []string
	file          string
	says          []string
}

func checkRefused(t *testing.T, tests []refusal) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := load(t, test.args, test.environ, test.file)
			if err == nil {
				err = c.Validate()
			}
			if err == nil {
				t.Fatal("the configuration is accepted")
			}
			for _, s := range test.says {
				if !strings.Contains(err.Error(), s) {
					t.Errorf("the message does not say %q: %v", s, err)
				}
			}
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	checkRefused(t, []refusal{
		{name: "unknown key", file: "listn: a\nzzz: b\n", says: []string{"unknown key listn (did you mean listen?)", "unknown key zzz"}},
		{name: "key in the form of a flag", file: "data-dir: a\n", says: []string{"data-dir", "did you mean dataDir?"}},
		{name: "key twice", file: "dataDir: a\ndataDir: b\n", says: []string{"dataDir"}},
		{name: "two documents", file: "---\ndataDir: b\n", says: []string{"several YAML documents"}},
		{name: "a list instead of options", file: "", args: []string{"--config", writeFile(t, "- a\n")}, says: []string{"want options with their values", "listen: 127.0.0.1:8080"}},
		{name: "no value", file: "dataDir:\n", says: []string{"dataDir", "no value"}},
		{name: "a map", file: "dataDir: {a: b}\n", says: []string{"dataDir", "want a string"}},
		{name: "a list of numbers", file: "listen: [1]\n", says: []string{"listen", "list of strings"}},
		{name: "duration without a unit in the file", file: "history: 60\n", says: []string{"revtail.yaml: history", "missing unit"}},
		{name: "absent file", args: []string{"--config", "absent.yaml"}, says: []string{"--config", "absent.yaml"}},
		{name: "unknown variable", environ: []string{"REVTAIL_LISTN=a", "HOME=/"}, says: []string{"REVTAIL_LISTN", "did you mean REVTAIL_LISTEN?"}},
		{name: "variable", environ: []string{"REVTAIL_HISTORY=soon"}, says: []string{"REVTAIL_HISTORY", "soon"}},
		{name: "variable that is a bool", environ: []string{"REVTAIL_ANONYMOUS=maybe"}, says: []string{"REVTAIL_ANONYMOUS"}},
		{name: "days", args: []string{"--history-retention=xd"}, says: []string{"--history-retention", "7d"}},
		{name: "size", args: []string{"--history-max-size=much"}, says: []string{"--history-max-size", "10GiB"}},
		{name: "flag", args: []string{"--log-level=loud"}, says: []string{"--log-level", "loud"}},
	})
}

func TestLoadRefusesOtherVersions(t *testing.T) {
	for _, content := range []string{"", "dataDir: a\n", "apiVersion: revtail/v2\n", "apiVersion: 1\n"} {
		_, err := load(t, []string{"--config", writeFile(t, content)}, nil, "")
		if err == nil || !strings.Contains(err.Error(), "apiVersion: revtail/v1") {
			t.Errorf("%q: %v, want a message with the version to write", content, err)
		}
	}
	if _, err := load(t, []string{"--config", writeFile(t, "# a comment\n---\napiVersion: revtail/v1\n")}, nil, ""); err != nil {
		t.Errorf("separator before the only document: %v", err)
	}
}

func TestValidateRefuses(t *testing.T) {
	external := "--etcd-endpoints=a:1"
	checkRefused(t, []refusal{
		{name: "bounds without a journal", args: []string{"--history-retention=1d"}, says: []string{"--history-retention", "--history-dir"}},
		{name: "retention", args: []string{"--history-dir=j", "--history-retention=-1h"}, says: []string{"--history-retention", "want 0 or more"}},
		{name: "resources without a journal", args: []string{"--history-resources=pods", "--history-from=https://a"},
			says: []string{"--history-resources has no effect with no --history-dir", "--history-from has no effect with no --history-dir"}},
		{name: "resources that are no names", args: []string{"--history-dir=j", "--history-resources=Pods,*,*.a*,apps.,--events,-,-*,a/b"},
			says: []string{`"Pods": want plurals`, `"*": want plurals`, `"*.a*": want`, `"apps.": want`, `"--events": want`, `"-": want`, `"-*": want`, `"a/b": want`}},
		{name: "all resources excluded", args: []string{"--history-dir=j", "--history-resources=-*.*"}, says: []string{`excludes all resources: write --history-resources ""`}},
		{name: "keys of resources excluded", args: []string{"--history-dir=j", "--history-keys=-/registry/events/,-/,-"},
			says: []string{"--history-keys -/registry/events/: the keys below /registry are those of resources", "--history-keys -/: the keys below", `--history-keys "-": want keys`}},
		{name: "every key recorded", args: []string{"--history-dir=j", "--history-keys=*"}, says: []string{`--history-keys "*"`, "/app/"}},
		{name: "keys of resources recorded", args: []string{"--history-dir=j", "--history-keys=/registry/pods/"}, says: []string{"--history-resources"}},
		{name: "keys above the resources recorded", args: []string{"--history-dir=j", "--history-resources=pods", "--keys=/"}, says: []string{"--history-resources has no effect, because the keys / are recorded", `--history-keys ""`}},
		{name: "history from no URL", args: []string{"--history-dir=j", "--history-from=a:8080"}, says: []string{"--history-from: want the http:// or https:// URL"}},
		{name: "history from a path", args: []string{"--history-dir=j", "--history-from=https://a/v1/history"}, says: []string{"without a user, a path and a query"}},
		{name: "a token in the open", args: []string{"--history-dir=j", "--history-from=http://a", "--history-from-token-file=t"}, says: []string{"want https:// with --history-from-token-file"}},
		{name: "authorities without TLS", args: []string{"--history-dir=j", "--history-from=http://a", "--history-from-ca-file=t"}, says: []string{"--history-from is not TLS"}},
		{name: "a certificate without TLS", args: []string{"--history-dir=j", "--history-from=http://a", "--history-from-cert-file=c", "--history-from-key-file=k"}, says: []string{"--history-from is not TLS"}},
		{name: "a certificate without its key", args: []string{"--history-dir=j", "--history-from=https://a", "--history-from-cert-file=c"}, says: []string{"--history-from-cert-file and --history-from-key-file go together"}},
		{name: "a token for nothing", args: []string{"--history-dir=j", "--history-from-token-file=t"}, says: []string{"--history-from-token-file has no effect with no --history-from"}},
		{name: "all interfaces", args: []string{"--listen=:8080"}, says: []string{"--listen :8080", "--anonymous", "/registry", "no authentication"}},
		{name: "other address", args: []string{"--listen=10.0.0.1:8080"}, says: []string{"--anonymous"}},
		{name: "host name", args: []string{"--listen=host:8080"}, says: []string{"--anonymous"}},
		{name: "one of two", args: []string{"--listen=127.0.0.1:1", "--listen=0.0.0.0:2"}, says: []string{"--listen 0.0.0.0:2"}},
		{name: "no port", args: []string{"--listen=127.0.0.1"}, says: []string{"--listen", "host:port"}},
		{name: "invalid port", args: []string{"--listen=127.0.0.1:65536"}, says: []string{"--listen", "65535"}},
		{name: "empty address", args: []string{"--listen="}, says: []string{"--listen"}},
		{name: "relative socket", args: []string{"--listen=unix://run/a.sock"}, says: []string{"--listen", "absolute path", "unix:///run/"}},
		{name: "socket without a path", args: []string{"--admin-listen=unix://"}, says: []string{"--admin-listen", "absolute path"}},
		{name: "socket with a winding path", args: []string{"--listen=unix:///run/../a.sock"}, says: []string{"absolute path"}},
		{name: "socket that ends with a slash", args: []string{"--listen=unix:///run/"}, says: []string{"absolute path"}},
		{name: "abstract socket", args: []string{"--listen=unix://@a"}, says: []string{"absolute path"}},
		{name: "socket with two slashes missing", args: []string{"--listen=unix:/run/a.sock"}, says: []string{"unix:///PATH"}},
		{name: "TLS on a socket", args: []string{"--listen=unix:///a", "--tls-cert-file=c", "--tls-private-key-file=k"},
			says: []string{"--tls-cert-file has no effect with only unix sockets"}},
		{name: "everything at once", args: []string{"--listen=x", "--etcd-prefix=x", "--log-format=x"}, says: []string{"--listen", "--etcd-prefix", "--log-format"}},
		{name: "encrypted keys without providers", args: []string{"--encryption-keys=/app/"}, says: []string{"--encryption-keys", "--encryption-provider-config"}},
		{name: "every key encrypted", args: []string{"--encryption-provider-config=f", "--encryption-keys=*"}, says: []string{"--encryption-keys", "/app/secret/"}},
		{name: "keys of resources encrypted", args: []string{"--encryption-provider-config=f", "--encryption-keys=/app/,/registry/secrets/"},
			says: []string{"--encryption-keys /registry/secrets/", "have their own names"}},
		{name: "a prefix above the resources encrypted", args: []string{"--encryption-provider-config=f", "--encryption-keys=/"}, says: []string{"--encryption-keys /"}},
		{name: "own keys encrypted", args: []string{"--encryption-provider-config=f", "--encryption-keys=revtail/claims"}, says: []string{"the gateway's own"}},
		{name: "a kube-apiserver without TLS", args: []string{"--kube-apiserver=http://a:6443"}, says: []string{"--kube-apiserver: want an https:// URL"}},
		{name: "a kube-apiserver without its etcd", args: []string{"--kube-apiserver=https://a:6443"}, says: []string{"--kube-apiserver needs --cluster"}},
		{name: "a cluster without its etcd", args: []string{"--cluster"}, says: []string{"--cluster: name the etcd of the cluster with --etcd-endpoints"}},
		{name: "a cluster that is adopted", args: []string{"--cluster", "--etcd-endpoints=a:1", "--adopt", "--history=1h"}, says: []string{"--adopt has no effect with --cluster", "--history has no effect with --cluster"}},
		{name: "a kube-apiserver with a user", args: []string{"--kube-apiserver=https://u:p@a:6443"}, says: []string{"--kube-apiserver: want an https:// URL without a user"}},
		{name: "certificates that are not forwarded", args: []string{"--kube-apiserver=https://a", "--tls-cert-file=c", "--tls-private-key-file=k", "--client-ca-file=ca"},
			says: []string{"--client-ca-file with --kube-apiserver needs --proxy-client-cert-file"}},
		{name: "half a front proxy", args: []string{"--kube-apiserver=https://a", "--proxy-client-cert-file=c"}, says: []string{"--proxy-client-cert-file and --proxy-client-key-file go together"}},
		{name: "a front proxy without a kube-apiserver", args: []string{"--proxy-client-cert-file=c", "--proxy-client-key-file=k"}, says: []string{"--proxy-client-cert-file has no effect with no --kube-apiserver"}},
		{name: "forwarded resources without a kube-apiserver", args: []string{"--forward-resources=events", "--cluster", "--etcd-endpoints=a:1"},
			says: []string{"--forward-resources has no effect with no --kube-apiserver"}},
		{name: "forwarded resources that are no names", args: []string{"--kube-apiserver=https://a", "--forward-resources=/events#http://b:1,Events,*.apps,apps.,-events,"},
			says: []string{`--forward-resources "/events#http://b:1": want plurals`, `"Events": want`, `"*.apps": want`, `"apps.": want`, `"-events": want`}},
		{name: "a policy beside a kube-apiserver", args: []string{"--kube-apiserver=https://a", "--policy-file=p", "--token-file=t", "--anonymous"},
			says: []string{"--policy-file has no effect with --kube-apiserver", "--token-file has no effect", "--anonymous has no effect"}},
		{name: "an issuer without a key", args: []string{"--service-account-issuer=https://a"}, says: []string{"--service-account-signing-key-file", "openssl genrsa"}},
		{name: "a key without an issuer", args: []string{"--service-account-signing-key-file=k"}, says: []string{"--service-account-signing-key-file has no effect with no --service-account-issuer"}},
		{name: "an issuer twice", args: []string{"--service-account-issuer=a,a", "--service-account-key-file=k"}, says: []string{"--service-account-issuer a is given twice"}},
		{name: "an issuer that is no URL", args: []string{"--service-account-issuer=:a", "--service-account-key-file=k"}, says: []string{"--service-account-issuer \":a\"", "https://"}},
		{name: "an issuer of others", args: []string{"--service-account-issuer=https://a", "--service-account-key-file=k", "--oidc-issuer-url=https://a", "--oidc-client-id=c"},
			says: []string{"--service-account-issuer https://a", "--oidc-issuer-url"}},
		{name: "a short maximum", args: []string{"--service-account-issuer=a", "--service-account-signing-key-file=k", "--service-account-max-token-expiration=1m"},
			says: []string{"--service-account-max-token-expiration", "10m0s"}},
		{name: "a maximum without signing", args: []string{"--service-account-issuer=a", "--service-account-key-file=k", "--service-account-max-token-expiration=1h"},
			says: []string{"--service-account-max-token-expiration has no effect with no --service-account-signing-key-file"}},
		{name: "an empty audience", args: []string{"--api-audiences=a,"}, says: []string{"--api-audiences"}},
		{name: "endpoint without a port", args: []string{"--etcd-endpoints=a"}, says: []string{"--etcd-endpoints", "host:port"}},
		{name: "empty endpoint", args: []string{"--etcd-endpoints=a:1,"}, says: []string{"--etcd-endpoints"}},
		{name: "endpoint with a path", args: []string{"--etcd-endpoints=http://a:1/v3"}, says: []string{"--etcd-endpoints"}},
		{name: "endpoint of another kind", args: []string{"--etcd-endpoints=ftp://a:1"}, says: []string{"--etcd-endpoints"}},
		{name: "endpoint with a user", args: []string{"--etcd-endpoints=http://u:p@a:1"}, says: []string{"--etcd-user"}},
		{name: "plain endpoint with TLS options", args: []string{"--etcd-endpoints=http://a:1", "--etcd-cacert=ca"}, says: []string{"https://"}},
		{name: "server's certificate without key", args: []string{"--tls-cert-file=c"}, says: []string{"--tls-cert-file and --tls-private-key-file"}},
		{name: "server's key without certificate", args: []string{"--tls-private-key-file=k"}, says: []string{"--tls-cert-file and --tls-private-key-file"}},
		{name: "clients' authorities without TLS", args: []string{"--client-ca-file=c"}, says: []string{"--client-ca-file", "--tls-cert-file"}},
		{name: "TLS is no authentication", args: []string{"--listen=:8443", "--tls-cert-file=c", "--tls-private-key-file=k"},
			says: []string{"--listen :8443: no authentication (--client-ca-file, --token-file or --oidc-issuer-url): ", "--anonymous"}},
		{name: "authentication is no TLS", args: []string{"--listen=:8443", "--token-file=t"},
			says: []string{"--listen :8443: no TLS (--tls-cert-file, --tls-private-key-file): ", "--anonymous"}},
		{name: "anonymous users with authentication and without a policy", args: []string{"--anonymous", "--token-file=t"}, says: []string{"--policy-file"}},
		{name: "issuer without audience", args: []string{"--oidc-issuer-url=https://issuer"}, says: []string{"--oidc-client-id"}},
		{name: "audience without issuer", args: []string{"--oidc-client-id=revtail"}, says: []string{"--oidc-issuer-url"}},
		{name: "issuer without TLS", args: []string{"--oidc-issuer-url=http://issuer", "--oidc-client-id=a"}, says: []string{"https://"}},
		{name: "issuer with a query", args: []string{"--oidc-issuer-url=https://issuer?a", "--oidc-client-id=a"}, says: []string{"https://"}},
		{name: "issuer without users", args: []string{"--oidc-issuer-url=https://issuer", "--oidc-client-id=a", "--oidc-username-claim="}, says: []string{"--oidc-username-claim"}},
		{name: "any origin", args: []string{"--cors-allowed-origins=*"}, says: []string{"--cors-allowed-origins"}},
		{name: "origin with a path", args: []string{"--cors-allowed-origins=https://a/"}, says: []string{"--cors-allowed-origins"}},
		{name: "origin that is a pattern", args: []string{"--cors-allowed-origins=https://*.a"}, says: []string{"--cors-allowed-origins"}},
		{name: "origin null", args: []string{"--cors-allowed-origins=null"}, says: []string{"--cors-allowed-origins"}},
		{name: "host with a port", args: []string{"--allowed-hosts=a:1"}, says: []string{"--allowed-hosts"}},
		{name: "audit level", args: []string{"--audit-log-path=a", "--audit-level=all"}, says: []string{"--audit-level", "metadata"}},
		{name: "audit level without an audit log", args: []string{"--audit-level=request"}, says: []string{"--audit-level", "--audit-log-path"}},
		{name: "limit without authentication", args: []string{"--max-watches-per-user=1"}, says: []string{"--max-watches-per-user"}},
		{name: "negative limit", args: []string{"--max-watches-per-user=-1"}, says: []string{"--max-watches-per-user"}},
		{name: "collector that is no URL", args: []string{"--otlp-endpoint=127.0.0.1:4317"}, says: []string{"--otlp-endpoint", "http://127.0.0.1:4317"}},
		{name: "collector with a path", args: []string{"--otlp-endpoint=http://a:4318/v1/traces"}, says: []string{"--otlp-endpoint", "gRPC", "--otlp-protocol http/protobuf"}},
		{name: "collector with a query", args: []string{"--otlp-endpoint=http://a:4318/?key=1", "--otlp-protocol=http/protobuf"}, says: []string{"--otlp-endpoint", "OTEL_EXPORTER_OTLP_HEADERS"}},
		{name: "unknown protocol", args: []string{"--otlp-endpoint=http://a:4318", "--otlp-protocol=http/json"}, says: []string{"--otlp-protocol", "grpc or http/protobuf"}},
		{name: "unknown protocol of OpenTelemetry's", args: []string{"--otlp-endpoint=http://a:4318"}, environ: []string{"OTEL_EXPORTER_OTLP_PROTOCOL=http/json"}, says: []string{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc or http/protobuf"}},
		{name: "cluster IPs that are no network", args: []string{"--service-cluster-ip-range=10.96.0.1"}, says: []string{"--service-cluster-ip-range 10.96.0.1", "10.96.0.0/16"}},
		{name: "cluster IPs of one family twice", args: []string{"--service-cluster-ip-range=10.96.0.0/16,10.97.0.0/16"}, says: []string{"--service-cluster-ip-range", "one of IPv4 and one of IPv6"}},
		{name: "a network without addresses", args: []string{"--service-cluster-ip-range=10.96.0.0/31"}, says: []string{"--service-cluster-ip-range 10.96.0.0/31", "/30"}},
		{name: "a network that is too large", args: []string{"--service-cluster-ip-range=fd00::/48"}, says: []string{"--service-cluster-ip-range fd00::/48", "/64"}},
		{name: "node ports that are no range", args: []string{"--service-cluster-ip-range=10.96.0.0/16", "--service-node-port-range=a-b"}, says: []string{"--service-node-port-range a-b", "30000-32767"}},
		{name: "node ports without cluster IPs", args: []string{"--service-node-port-range=30000-30100"}, says: []string{"--service-node-port-range has no effect with no --service-cluster-ip-range"}},
		{name: "two garbage collectors", args: []string{"--external-garbage-collector"}, says: []string{"--external-garbage-collector: two programs would delete", "add --garbage-collector=false"}},
		{name: "protocol without endpoint", args: []string{"--otlp-protocol=grpc"}, says: []string{"--otlp-protocol has no effect with no --otlp-endpoint"}},
		{name: "sampling without an endpoint", args: []string{"--trace-sampling=0.5"}, says: []string{"--trace-sampling has no effect with no --otlp-endpoint"}},
		{name: "sampling above 1", args: []string{"--otlp-endpoint=http://a:1", "--trace-sampling=1.5"}, says: []string{"--trace-sampling", "0 to 1"}},
		{name: "certificate without key", args: []string{external, "--etcd-cert=c"}, says: []string{"--etcd-cert and --etcd-key"}},
		{name: "user without password", args: []string{external, "--etcd-user=u"}, says: []string{"--etcd-user and --etcd-password-file"}},
		{name: "user and password in one", args: []string{external, "--etcd-user=u:p"}, says: []string{"--etcd-password-file"}},
		{name: "prefix /", args: []string{"--etcd-prefix=/"}, says: []string{"--etcd-prefix", "/registry"}},
		{name: "prefix with / at the end", args: []string{"--etcd-prefix=/a/"}, says: []string{"--etcd-prefix"}},
		{name: "relative prefix", args: []string{"--etcd-prefix=a"}, says: []string{"--etcd-prefix"}},
		{name: "prefix with ..", args: []string{"--etcd-prefix=/a/../b"}, says: []string{"--etcd-prefix"}},
		{name: "prefix with an empty part", args: []string{"--etcd-prefix=/a//b"}, says: []string{"--etcd-prefix"}},
		{name: "negative history", args: []string{"--history=-1s"}, says: []string{"--history"}},
		{name: "negative grace", args: []string{"--drain-grace=-1s"}, says: []string{"--drain-grace"}},
		{name: "no time to start", args: []string{"--startup-timeout=0"}, says: []string{"--startup-timeout"}},
		{name: "format", args: []string{"--log-format=xml"}, says: []string{"--log-format", "json"}},
		{name: "two etcds", args: []string{external, "--embedded-config=f"}, says: []string{"--embedded-config has no effect with --etcd-endpoints"}},
		{name: "data directory of an external etcd", args: []string{external}, environ: []string{"REVTAIL_DATA_DIR=d"}, says: []string{"--data-dir has no effect with --etcd-endpoints"}},
		{name: "data directory twice", args: []string{"--embedded-config=f"}, file: "dataDir: d\n", says: []string{"--data-dir has no effect with --embedded-config"}},
		{name: "client URL twice", args: []string{"--embedded-config=f", "--embedded-client-url=http://127.0.0.1:0"}, says: []string{"--embedded-client-url"}},
		{name: "authorities of an embedded etcd", args: []string{"--etcd-cacert=c"}, says: []string{"--etcd-cacert", "embedded etcd"}},
	})
}

func TestNoSecretIsRepeatedInAMessage(t *testing.T) {
	for _, arg := range []string{"--etcd-user=root:canary", "--etcd-endpoints=http://root:canary@a:1", "--etcd-endpoints=root:canary@a:1", "--otlp-endpoint=http://root:canary@a:1"} {
		c, err := load(t, []string{arg}, nil, "")
		if err == nil {
			err = c.Validate()
		}
		if err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v, want a refusal without the password", arg, err)
		}
	}
}

func TestValidateAccepts(t *testing.T) {
	tests := [][]string{
		nil,
		{"--listen=localhost:0", "--listen=127.1.2.3:1", "--listen=[::1]:2"},
		{"--listen=:8080", "--anonymous"},
		{"--listen=unix:///run/a.sock", "--admin-listen=unix:///run/a b,.sock"},
		{"--listen=unix:///run/a.sock", "--listen=:8443", "--tls-cert-file=c", "--tls-private-key-file=k", "--token-file=t"},
		{"--listen=:8443", "--anonymous", "--tls-cert-file=c", "--tls-private-key-file=k", "--client-ca-file=a", "--policy-file=p"},
		{"--listen=:8443", "--tls-cert-file=c", "--tls-private-key-file=k", "--client-ca-file=a"},
		{"--listen=:8443", "--tls-cert-file=c", "--tls-private-key-file=k", "--token-file=t", "--max-watches-per-user=5"},
		{"--listen=:8080", "--anonymous", "--max-watches-per-user=0"},
		{"--listen=:8443", "--tls-cert-file=c", "--tls-private-key-file=k", "--oidc-issuer-url=https://issuer/realm", "--oidc-client-id=a"},
		{"--listen=:8080", "--anonymous", "--policy-file=p"},
		{"--token-file=t"},
		{"--cors-allowed-origins=https://a.example.com,http://localhost:3000,http://[::1]:3000", "--allowed-hosts=revtail.example.com"},
		{"--etcd-endpoints=a:1,https://[::1]:2,unix:///run/etcd.sock", "--etcd-cacert=ca"},
		{"--etcd-user=u", "--etcd-password-file=f"},
		{"--etcd-prefix=/a/b.c"},
		{"--history=0", "--drain-grace=0"},
	}
	for _, args := range tests {
		c, err := load(t, args, nil, "")
		if err == nil {
			err = c.Validate()
		}
		if err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// A Service named revtail makes Kubernetes put these into each container of its namespace.
func TestServiceLinksAreNoOptions(t *testing.T) {
	environ := []string{
		"REVTAIL_SERVICE_HOST=10.0.0.1", "REVTAIL_SERVICE_PORT=8080", "REVTAIL_SERVICE_PORT_HTTP=8080", "REVTAIL_PORT=tcp://10.0.0.1:8080",
		"REVTAIL_PORT_8080_TCP=tcp://10.0.0.1:8080", "REVTAIL_PORT_8080_TCP_PROTO=tcp", "REVTAIL_PORT_8080_TCP_PORT=8080",
		"REVTAIL_PORT_8080_TCP_ADDR=10.0.0.1", "REVTAIL_GATEWAY_SERVICE_HOST=10.0.0.1", "REVTAIL_GATEWAY_PORT_8080_TCP_ADDR=10.0.0.1",
	}
	if _, err := load(t, nil, environ, ""); err != nil {
		t.Error(err)
	}
	for _, o := range new(Config).options() {
		if serviceLink.MatchString(o.env()) {
			t.Errorf("%s looks like a service link and would be ignored", o.env())
		}
	}
}
