package serve

import (
	"os"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/completion"
	"revtail/cmd/revtail/serve/logging"
	"revtail/cmd/revtail/serve/webserver"
	"revtail/gateway/config"
	"revtail/gateway/config/buildinfo"
	"revtail/gateway/metrics"
	"revtail/gateway/netio/stranger"
)

const longHelp = `When the gateway is ready, it prints its addresses in one line on stdout, as in
  READY http=http://127.0.0.1:8080 etcd=embedded revision=1
If revtail does not own the data, the line ends in data=kube-apiserver or data=foreign, and mode=read-only or mode=writable.
The log goes to stderr. SIGTERM or SIGINT ends the gateway after its watches and requests, a second signal ends it at once.

--listen and --admin-listen also take unix:///path: a socket that only the user of this process may open, with plain HTTP. With authentication
or a policy the embedded etcd has no port, but the socket client/etcd.sock in --data-dir, unless --embedded-client-url is given.

With --tls-cert-file and --tls-private-key-file every other --listen address is HTTPS. Clients authenticate with a
certificate (--client-ca-file), a token (--token-file, see 'revtail token') or a signed token of an issuer (--oidc-issuer-url).
--policy-file authorizes them. The gateway reads these files, and those of TLS and of the login to etcd, again when they change,
and at once at SIGHUP. It logs an invalid file and keeps the previous content. A watch whose user is no longer allowed to watch
ends within seconds; all others go on.

Each flag has an environment variable (--etcd-prefix: REVTAIL_ETCD_PREFIX) and a key in the --config file (etcdPrefix).
A flag overrides the environment, the environment overrides the file. Only the file has mounts: they show the keys of other
programs as resources. A change of the mounts applies when the file changes and at SIGHUP, a change of other keys at the next start:
  apiVersion: revtail/v1
  mounts:
  - prefix: /app/config/       # ends with /
    group: app.example.com
    version: v1                # the default
    kind: Setting
    plural: settings
    namespaced: false          # true: the first segment of a key is the namespace
    codec: json                # the default; or yaml, string, bytes
    writable: false            # true: objects can be created, changed and deleted

Exit codes: 0 ended by a signal, 1 failed, 2 wrong usage or configuration, 3 etcd not reachable within --startup-timeout.`

const examples = `  # a gateway with an embedded etcd, whose data is in ./revtail.etcd
  revtail serve

  # on any free port, with the data and the socket of the embedded etcd in another directory
  revtail serve --listen 127.0.0.1:0 --data-dir /var/lib/revtail --embedded-client-url none

  # over an external etcd of three members, with TLS and a user
  revtail serve --etcd-endpoints https://a:2379,https://b:2379,https://c:2379 --etcd-cacert ca.crt \
    --etcd-user revtail --etcd-password-file password

  # HTTPS for other machines, with tokens, a policy, an audit log, and a listener for operators
  revtail serve --listen 0.0.0.0:8443 --tls-cert-file server.crt --tls-private-key-file server.key \
    --token-file tokens.yaml --policy-file policy.yaml --audit-log-path audit.log --admin-listen 127.0.0.1:9090

  # the configuration that these flags, the environment and the file have together
  revtail serve --config revtail.yaml --print-config`

// NewCommand returns the command serve. build is that of this program.
func NewCommand(build buildinfo.Info) *cobra.Command {
	short := "Run the gateway, with an etcd in the same process unless --etcd-endpoints is given"
	if !buildinfo.Embedded {
		short = "Run the gateway before the etcd at --etcd-endpoints"
	}
	cmd := &cobra.Command{Use: "serve", GroupID: command.GroupServer, Short: short, Long: short + ".\n\n" + longHelp, Example: examples}
	flags := config.AddFlags(cmd.Flags())
	printConfig := cmd.Flags().Bool("print-config", false, "print the effective configuration as a --config file, and exit")
	printReference := cmd.Flags().Bool("print-reference", false, "print all options with their defaults, environment variables and keys in the file, in Markdown, and exit")
	var tests standIn
	tests.addFlags(cmd.Flags())
	for flag, values := range config.Enumerations {
		completion.Values(cmd, flag, values...)
	}
	cmd.Flags().SortFlags = false
	config.GroupFlags(cmd.Flags(), config.ConfigurationGroup, "print-config", "print-reference")
	cmd.RunE = command.NoArgs(func(cmd *cobra.Command) error {
		if *printReference {
			_, err := cmd.OutOrStdout().Write(config.Reference())
			return err
		}
		load := func() (config.Config, error) {
			cfg, err := flags.Load(os.Environ())
			if err == nil {
				err = cfg.Validate()
			}
			return cfg, err
		}
		cfg, err := load()
		if err != nil {
			return command.UsageError(err)
		}
		if *printConfig {
			out, err := cfg.YAML()
			if err == nil {
				_, err = cmd.OutOrStdout().Write(out)
			}
			return err
		}
		logger, flush := logging.New(cfg, cmd.ErrOrStderr())
		defer flush()
		p := &process{cfg: cfg, build: build, standIn: tests, logger: logger,
			limit: webserver.NewAddressLimit(cfg.MaxConnectionsPerAddress), strangers: stranger.NewRegistry(), requests: metrics.NewStoreRequests()}
		return p.serve(cmd.Context(), load, cmd.OutOrStdout())
	})
	return cmd
}
