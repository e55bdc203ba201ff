package health

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/command"
	"revtail/gateway/config"
)

// timeout is less than the timeout of the health checks of container runtimes.
const timeout = 5 * time.Second

// NewCommand returns the command health.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Exit with 0 when a gateway is ready: the health check of a container",
		Long: `Ask a gateway whether it is ready. Exit with 0 when it is, else with 1 and the reason.

Without --url it asks the gateway that 'revtail serve' starts in the same environment: at REVTAIL_LISTEN, or at listen in the
file of REVTAIL_CONFIG, or at 127.0.0.1:8080; over HTTPS if REVTAIL_TLS_CERT_FILE or tlsCertFile in that file is set.

The certificate of a gateway on a loopback address is checked only with --cacert, because only processes of this machine can
listen there.`,
	}
	p := probe{}
	cmd.Flags().StringVar(&p.url, "url", "", "`URL` of the gateway, as http://127.0.0.1:8080")
	cmd.Flags().StringVar(&p.cacert, "cacert", "", "PEM `file` of the authorities that sign the gateway's certificate; none: those of the system")
	cmd.RunE = command.NoArgs(func(cmd *cobra.Command) error {
		if p.url == "" {
			cfg, err := new(config.Flags).Load(os.Environ())
			if err == nil {
				p.url, err = gatewayURL(cfg)
			}
			if err != nil {
				return command.UsageError(err)
			}
		}
		return p.run(cmd.Context(), cmd.OutOrStdout())
	})
	return cmd
}
