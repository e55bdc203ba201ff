package config

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"
)

// samples is a value for each option that is not its default, and the field that it belongs to.
var samples = map[string]struct {
	text  string
	field string
	want  any
}{
	"listen":                               {"127.0.0.1:1,127.0.0.1:2", "Listen", []string{"127.0.0.1:1", "127.0.0.1:2"}},
	"anonymous":                            {"true", "Anonymous", true},
	"admin-listen":                         {"127.0.0.1:1", "AdminListen", "127.0.0.1:1"},
	"tls-cert-file":                        {"cert.pem", "TLSCertFile", "cert.pem"},
	"tls-private-key-file":                 {"key.pem", "TLSPrivateKeyFile", "key.pem"},
	"client-ca-file":                       {"ca.pem", "ClientCAFile", "ca.pem"},
	"token-file":                           {"tokens.yaml", "TokenFile", "tokens.yaml"},
	"oidc-issuer-url":                      {"https://issuer", "OIDCIssuerURL", "https://issuer"},
	"oidc-client-id":                       {"revtail", "OIDCClientID", "revtail"},
	"oidc-ca-file":                         {"ca.pem", "OIDCCAFile", "ca.pem"},
	"oidc-username-claim":                  {"email", "OIDCUsernameClaim", "email"},
	"oidc-username-prefix":                 {"-", "OIDCUsernamePrefix", "-"},
	"oidc-groups-claim":                    {"groups", "OIDCGroupsClaim", "groups"},
	"oidc-groups-prefix":                   {"oidc:", "OIDCGroupsPrefix", "oidc:"},
	"policy-file":                          {"policy.yaml", "PolicyFile", "policy.yaml"},
	"service-account-issuer":               {"https://a,b", "ServiceAccountIssuer", []string{"https://a", "b"}},
	"service-account-signing-key-file":     {"sa.key", "ServiceAccountSigningKeyFile", "sa.key"},
	"service-account-key-file":             {"old.pub,older.pub", "ServiceAccountKeyFile", []string{"old.pub", "older.pub"}},
	"service-account-max-token-expiration": {"24h", "ServiceAccountMaxTokenExpiration", 24 * time.Hour},
	"api-audiences":                        {"a,b", "APIAudiences", []string{"a", "b"}},
	"kube-apiserver":                       {"https://a:6443", "KubeAPIServer", "https://a:6443"},
	"kube-apiserver-ca-file":               {"ca.pem", "KubeAPIServerCAFile", "ca.pem"},
	"authentication-kubeconfig":            {"revtail.conf", "AuthenticationKubeconfig", "revtail.conf"},
	"proxy-client-cert-file":               {"front.pem", "ProxyClientCertFile", "front.pem"},
	"proxy-client-key-file":                {"front.key", "ProxyClientKeyFile", "front.key"},
	"forward-resources":                    {"events, leases.coordination.k8s.io", "ForwardResources", []string{"events", "leases.coordination.k8s.io"}},
	"max-requests-inflight":                {"9", "MaxRequestsInflight", 9},
	"max-mutating-requests-inflight":       {"10", "MaxMutatingRequestsInflight", 10},
	"max-watches":                          {"11", "MaxWatches", 11},
	"max-watches-per-user":                 {"7", "MaxWatchesPerUser", 7},
	"cors-allowed-origins":                 {"https://a,http://b:1", "CORSAllowedOrigins", []string{"https://a", "http://b:1"}},
	"allowed-hosts":                        {"a,b", "AllowedHosts", []string{"a", "b"}},
	"audit-log-path":                       {"audit.log", "AuditLogPath", "audit.log"},
	"audit-level":                          {"request", "AuditLevel", "request"},
	"max-connections-per-address":          {"8", "MaxConnectionsPerAddress", 8},
	"etcd-endpoints":                       {"a:1, b:2", "EtcdEndpoints", []string{"a:1", "b:2"}},
	"etcd-cacert":                          {"ca.pem", "EtcdCACert", "ca.pem"},
	"etcd-cert":                            {"cert.pem", "EtcdCert", "cert.pem"},
	"etcd-key":                             {"key.pem", "EtcdKey", "key.pem"},
	"etcd-user":                            {"root", "EtcdUser", "root"},
	"etcd-password-file":                   {"password", "EtcdPasswordFile", "password"},
	"etcd-prefix":                          {"/other", "EtcdPrefix", "/other"},
	"keys":                                 {"/app/,*", "Keys", []string{"/app/", "*"}},
	"keys-writable":                        {"/app/, flat", "KeysWritable", []string{"/app/", "flat"}},
	"data-dir":                             {"dir", "DataDir", "dir"},
	"embedded-client-url":                  {"http://127.0.0.1:0", "EmbeddedClientURL", "http://127.0.0.1:0"},
	"embedded-config":                      {"etcd.yaml", "EmbeddedConfig", "etcd.yaml"},
	"encryption-provider-config":           {"encryption.yaml", "EncryptionProviderConfig", "encryption.yaml"},
	"encryption-keys":                      {"/app/secret/, flat", "EncryptionKeys", []string{"/app/secret/", "flat"}},
	"history":                              {"10m", "History", 10 * time.Minute},
	"history-dir":                          {"journal", "HistoryDir", "journal"},
	"history-resources":                    {"configmaps, *.apps, -events", "HistoryResources", []string{"configmaps", "*.apps", "-events"}},
	"history-keys":                         {"/app/, flat", "HistoryKeys", []string{"/app/", "flat"}},
	"history-from":                         {"https://a:1", "HistoryFrom", "https://a:1"},
	"history-from-ca-file":                 {"ca.pem", "HistoryFromCAFile", "ca.pem"},
	"history-from-cert-file":               {"cert.pem", "HistoryFromCertFile", "cert.pem"},
	"history-from-key-file":                {"key.pem", "HistoryFromKeyFile", "key.pem"},
	"history-from-token-file":              {"token", "HistoryFromTokenFile", "token"},
	"history-retention":                    {"2d12h", "HistoryRetention", 60 * time.Hour},
	"history-max-size":                     {"1.5GiB", "HistoryMaxSize", Bytes(3 << 29)},
	"create-namespaces":                    {"true", "CreateNamespaces", true},
	"require-namespaces":                   {"true", "RequireNamespaces", true},
	"service-cluster-ip-range":             {"10.96.0.0/16, fd00::/108", "ServiceClusterIPRange", []string{"10.96.0.0/16", "fd00::/108"}},
	"service-node-port-range":              {"30000-30100", "ServiceNodePortRange", "30000-30100"},
	"garbage-collector":                    {"false", "GarbageCollector", false},
	"external-garbage-collector":           {"true", "ExternalGarbageCollector", true},
	"garbage-collector-limit":              {"250", "GarbageCollectorLimit", 250},
	"cluster":                              {"true", "Cluster", true},
	"writable":                             {"true", "Writable", true},
	"adopt":                                {"true", "Adopt", true},
	"otlp-endpoint":                        {"http://127.0.0.1:4317", "OTLPEndpoint", "http://127.0.0.1:4317"},
	"otlp-protocol":                        {"http/protobuf", "OTLPProtocol", "http/protobuf"},
	"trace-sampling":                       {"0.25", "TraceSampling", 0.25},
	"log-format":                           {"json", "LogFormat", "json"},
	"log-level":                            {"debug", "LogLevel", slog.LevelDebug},
	"startup-timeout":                      {"1s", "StartupTimeout", time.Second},
	"drain-delay":                          {"2s", "DrainDelay", 2 * time.Second},
	"drain-grace":                          {"3s", "DrainGrace", 3 * time.Second},
}

var ignoreSources = cmpopts.IgnoreUnexported(Config{})

// load loads a command line, an environment and a file.
func load(t *testing.T, args, environ []string, file string) (Config, error) {
	t.Helper()
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags := AddFlags(fs)
	if file != "" {
		args = append(args, "--config", writeFile(t, "apiVersion: revtail/v1\n"+file))
	}
	if err := fs.Parse(args); err != nil {
		return Config{}, err
	}
	return flags.Load(environ)
}

func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "revtail.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEveryOptionFromEverySource(t *testing.T) {
	for _, o := range new(Config).options() {
		sample, ok := samples[o.name]
		if !ok {
			t.Errorf("option %s has no sample in this test", o.name)
			continue
		}
		want := Default()
		reflect.ValueOf(&want).Elem().FieldByName(sample.field).Set(reflect.ValueOf(sample.want))
		switch o.name {
		case "etcd-endpoints":
			want.History = 0
		case "keys":
			want.KeysWritable = nil
		case "token-file", "client-ca-file", "oidc-issuer-url", "policy-file", "kube-apiserver":
			want.EmbeddedClientURL = NoClientURL
		}
		sources := map[string]struct {
			args, environ []string
			file          string
		}{
			"flag":        {args: []string{"--" + o.name + "=" + sample.text}},
			"environment": {environ: []string{o.env() + "=" + sample.text}},
			"file":        {file: fmt.Sprintf("%s: %s\n", o.key(), inYAML(sample.text))},
		}
		for source, from := range sources {
			t.Run(o.name+" from "+source, func(t *testing.T) {
				got, err := load(t, from.args, from.environ, from.file)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got, ignoreSources); diff != "" {
					t.Errorf("configuration (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// inYAML quotes a value that would have another type in a file.
func inYAML(text string) string {
	if text == "-" || strings.HasSuffix(text, ":") {
		return strconv.Quote(text)
	}
	return text
}

func TestEveryFieldIsAnOptionAndIsRead(t *testing.T) {
	optionOf := make(map[string]string)
	for name, sample := range samples {
		optionOf[sample.field] = name
	}
	read := fieldsRead(t, "config.go", "credentials.go", "service_addresses.go", "../../cmd/revtail/*/*.go", "../../cmd/revtail/serve/*/*.go")
	for field := range reflect.TypeFor[Config]().Fields() {
		if !field.IsExported() {
			continue
		}
		if _, ok := findOption(func(o option) string { return o.name }, optionOf[field.Name]); !ok && field.Name != "Mounts" { // the file has it alone
			t.Errorf("field %s belongs to no option", field.Name)
		}
		if !read[field.Name] {
			t.Errorf("field %s is never read: its option has no effect", field.Name)
		}
	}
}

// fieldsRead returns every x in an expression c.x, cfg.x, p.cfg.x or o.Config.x of files that are no tests.
func fieldsRead(t *testing.T, globs ...string) map[string]bool {
	t.Helper()
	read := make(map[string]bool)
	for _, glob := range globs {
		paths, err := filepath.Glob(glob)
		if err != nil || len(paths) == 0 {
			t.Fatalf("no files match %s (%v)", glob, err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				selector, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				var of string
				switch x := selector.X.(type) {
				case *ast.Ident:
					of = x.Name
				case *ast.SelectorExpr:
					of = x.Sel.Name
				}
				if of == "c" || of == "cfg" || of == "Config" {
					read[selector.Sel.Name] = true
				}
				return true
			})
		}
	}
	return read
}

func TestPrecedence(t *testing.T) {
	tests := []struct {
		name          string
		args, environ []string
		file          string
		want          []string
	}{
		{name: "default", want: []string{"127.0.0.1:8080"}},
		{name: "file", file: "listen: [f:1, f:2]\n", want: []string{"f:1", "f:2"}},
		{name: "environment over file", environ: []string{"REVTAIL_LISTEN=e:1"}, file: "listen: [f:1, f:2]\n", want: []string{"e:1"}},
		{name: "flag over environment", args: []string{"--listen", "a:1", "--listen", "a:2"}, environ: []string{"REVTAIL_LISTEN=e:1"}, file: "listen: f:1\n", want: []string{"a:1", "a:2"}},
		{name: "empty variable counts as unset", environ: []string{"REVTAIL_LISTEN="}, file: "listen: f:1\n", want: []string{"f:1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := load(t, test.args, test.environ, test.file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.Listen); diff != "" {
				t.Errorf("listen (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEmbeddedClientURL checks that an etcd without authentication has no port by default where clients of the gateway have to authenticate,
// or a policy restricts them.
func TestEmbeddedClientURL(t *testing.T) {
	for want, tests := range map[string][][]string{
		"http://127.0.0.1:2379": {nil, {"--anonymous"}, {"--token-file=t", "--embedded-client-url=http://127.0.0.1:2379"}},
		NoClientURL: {{"--token-file=t"}, {"--client-ca-file=c"}, {"--oidc-issuer-url=https://issuer"}, {"--policy-file=p", "--anonymous"},
			{"--embedded-client-url="}, {"--embedded-client-url=none"}},
	} {
		for _, args := range tests {
			if got, err := load(t, args, nil, ""); err != nil || got.EmbeddedClientURL != want {
				t.Errorf("%q: %q, %v; want %q", args, got.EmbeddedClientURL, err, want)
			}
		}
	}
}

func TestConfigFileOfTheEnvironment(t *testing.T) {
	first, second := writeFile(t, "apiVersion: revtail/v1\ndataDir: first\n"), writeFile(t, "apiVersion: revtail/v1\ndataDir: second\n")
	got, err := load(t, nil, []string{"REVTAIL_CONFIG=" + first}, "")
	if err != nil || got.DataDir != "first" {
		t.Errorf("REVTAIL_CONFIG: data directory %q, error %v; want first", got.DataDir, err)
	}
	got, err = load(t, []string{"--config", second}, []string{"REVTAIL_CONFIG=" + first}, "")
	if err != nil || got.DataDir != "second" {
		t.Errorf("--config over REVTAIL_CONFIG: data directory %q, error %v; want second", got.DataDir, err)
	}
}

// TestOTLPProtocol checks that OpenTelemetry's own variables are used when this program's options are not set, and ignored without an
// endpoint.
func TestOTLPProtocol(t *testing.T) {
	endpoint := "--otlp-endpoint=http://collector:4318"
	for name, tt := range map[string]struct {
		args, environ []string
		want          string
	}{
		"nothing":             {[]string{endpoint}, nil, OTLPGRPC},
		"of the environment":  {[]string{endpoint}, []string{"OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"}, OTLPHTTP},
		"of traces":           {[]string{endpoint}, []string{"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf"}, OTLPHTTP},
		"empty":               {[]string{endpoint}, []string{"OTEL_EXPORTER_OTLP_PROTOCOL="}, OTLPGRPC},
		"given":               {[]string{endpoint, "--otlp-protocol=grpc"}, []string{"OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"}, OTLPGRPC},
		"without a collector": {nil, []string{"OTEL_EXPORTER_OTLP_PROTOCOL=http/json"}, "http/json"},
	} {
		c, err := load(t, tt.args, tt.environ, "")
		if err == nil {
			err = c.Validate()
		}
		if err != nil || c.OTLPProtocol != tt.want {
			t.Errorf("%s: %q, %v; want %q", name, c.OTLPProtocol, err, tt.want)
		}
	}
}

func TestHistoryIsOffForAnExternalEtcdUnlessGiven(t *testing.T) {
	external := "--etcd-endpoints=a:1"
	tests := []struct {
		args []string
		want time.Duration
	}{
		{nil, time.Hour},
		{[]string{external}, 0},
		{[]string{external, "--history=1h"}, time.Hour},
		{[]string{"--history=0"}, 0},
	}
	for _, test := range tests {
		got, err := load(t, test.args, nil, "")
		if err != nil || got.History != test.want {
			t.Errorf("%q: history %v, error %v; want %v", test.args, got.History, err, test.want)
		}
	}
}

func TestKeysAreWritableWithAPolicy(t *testing.T) {
	every := []string{"*"}
	for args, want := range map[string][]string{
		"":                                      every,
		"--listen=localhost:1 --listen=[::1]:2": every,
		"--listen=127.0.0.1:1 --listen=10.0.0.1:2 --anonymous":  nil,
		"--listen=10.0.0.1:2 --anonymous":                       nil,
		"--listen=10.0.0.1:2 --policy-file=p":                   every,
		"--listen=10.0.0.1:2 --anonymous --keys-writable=/app/": {"/app/"},
		"--keys=/app/":     nil,
		"--keys=":          nil,
		"--keys-writable=": nil,
	} {
		c, err := load(t, strings.Fields(args), nil, "")
		if err != nil {
			t.Fatal(err)
		}
		if len(c.KeysWritable) != len(want) || len(want) > 0 && c.KeysWritable[0] != want[0] {
			t.Errorf("%s: %q, want %q", args, c.KeysWritable, want)
		}
	}
}

func TestPrintedConfigLoadsToTheSame(t *testing.T) {
	tests := [][]string{
		nil,
		{"--listen=127.0.0.1:1,[::1]:2", "--history=90s", "--log-level=warn", "--anonymous", "--etcd-user=1234567", "--etcd-password-file=on"},
		{"--etcd-endpoints=https://a:1,b:2", "--etcd-cacert=ca", "--etcd-cert=cert", "--etcd-key=key"},
		{"--embedded-config=etcd.yaml"},
		{"--listen=unix:///run/a.sock", "--embedded-client-url=none"},
		{"--token-file=t"},
	}
	for _, args := range tests {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			want, err := load(t, args, nil, "")
			if err != nil {
				t.Fatal(err)
			}
			printed, err := want.YAML()
			if err != nil {
				t.Fatal(err)
			}
			got, err := load(t, []string{"--config", writeFile(t, string(printed))}, nil, "")
			if err == nil {
				err = got.Validate()
			}
			if err != nil {
				t.Fatalf("the printed configuration is refused: %v\n%s", err, printed)
			}
			if diff := cmp.Diff(want, got, ignoreSources); diff != "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}
		})
	}
}
