package doctor

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/completion"
	"revtail/etcdstore"
	"revtail/gateway/config"
	"revtail/gateway/config/buildinfo"
)

const longHelp = `Check etcd and a gateway from the machine of this command, and say what is wrong and what to do.

Of etcd it checks the connection, TLS and login, versions, quorum, alarms, free space, history, and whether revtail can show the
data under the prefix. With --cluster, that is the data of a kube-apiserver: whether all of it can be decoded and decrypted, whether
the user of etcd can only read, how often etcd is compacted, and, with --kube-apiserver, whether that answers and accepts the
identities of revtail. Nothing is written. It finds etcd as 'revtail serve' does: by flags, REVTAIL_… in the environment, and --config.

Of the gateway it checks that it is ready, that clocks and versions agree, that its journal is written and has room, that it belongs to this etcd, and that a watch delivers
events at once, without a proxy that buffers them. With --idle it also waits for a proxy that closes idle streams, and says which
setting of the proxy to change.

Exit with 0 when no check fails, warnings aside, else with 1.`

// NewCommand returns the command doctor. build is that of this program.
func NewCommand(build buildinfo.Info) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "doctor",
		GroupID: command.GroupOperate,
		Short:   "Find out what is wrong with etcd, a gateway, or the network between them, and what to do",
		Long:    longHelp,
		Example: `  # the etcd and the gateway of revtail serve on this machine
  revtail doctor

  # the etcd of a Kubernetes cluster, with the options of revtail serve
  revtail doctor --cluster --etcd-endpoints https://127.0.0.1:2379 --etcd-cacert ca.crt --etcd-cert etcd.crt --etcd-key etcd.key \
    --encryption-provider-config /etc/kubernetes/encryption.yaml

  # gateways behind a proxy, and whether it closes a stream that is idle for five minutes
  revtail doctor --server https://revtail.example.com --token-file token --etcd-endpoints https://a:2379 --etcd-cacert ca.crt --idle 5m`,
	}
	d := &doctor{build: build}
	cmd.Flags().DurationVar(&d.idle, "idle", 0, "keep an idle watch open for this `duration`, to see whether a proxy closes it")
	flags := config.AddDataFlags(cmd.Flags())
	d.gateways.AddFlags(cmd.Flags())
	completion.Gateway(cmd, &d.gateways)
	cmd.Flags().SortFlags = false
	cmd.RunE = command.NoArgs(func(cmd *cobra.Command) error {
		cfg, err := flags.Load(os.Environ())
		if err == nil {
			err = cfg.Validate()
		}
		if err != nil {
			return command.UsageError(err)
		}
		d.cfg, d.out = cfg, cmd.OutOrStdout()
		return d.run(cmd.Context())
	})
	return cmd
}

// doctor is one run of the checks.
type doctor struct {
	build    buildinfo.Info // of this program
	cfg      config.Config  // of etcd
	gateways client.Config
	idle     time.Duration
	out      io.Writer

	failures int
	proxy    proxy              // in front of the gateway
	revision etcdstore.Revision // of etcd, before the checks of the gateway; zero: unknown
	store    *etcdstore.Etcd    // nil: etcd cannot be reached
	owned    bool               // the data under the prefix is revtail's own
}

// run makes all checks. The error has the number of failed checks.
func (d *doctor) run(ctx context.Context) error {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler)) // of the packages of Kubernetes, which log what the checks report
	d.checkEtcd(ctx)
	d.checkCertificates()
	d.checkKubeAPIServer(ctx)
	gateways, err := d.gateways.Each()
	if err != nil {
		d.report(failed, "gateway", err.Error(), "")
	}
	for _, gateway := range gateways {
		d.checkGateway(ctx, gateway.Servers[0], gateway)
	}
	if d.store != nil {
		_ = d.store.Close() // the store was only read
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if d.failures > 0 {
		return fmt.Errorf("%d of these checks failed", d.failures)
	}
	return nil
}

// severity is the result of a check.
type severity string

const (
	ok      severity = "ok"
	warning severity = "warn"
	failed  severity = "FAIL"
	skipped severity = "skip"
)

// report writes the result of a check. hint says what to do; it may be empty.
func (d *doctor) report(s severity, check, result, hint string) {
	if s == failed {
		d.failures++
	}
	lines := fmt.Sprintf("%-4s  %-9s %s\n", s, check, result)
	if hint != "" {
		lines += fmt.Sprintf("%16s→ %s\n", "", hint)
	}
	_, _ = io.WriteString(d.out, strings.ToValidUTF8(lines, "�")) // the exit code reports failures too
}

// elapsed is the time since start, rounded for display.
func elapsed(start time.Time) time.Duration { return time.Since(start).Round(100 * time.Microsecond) }

// formatBytes is a size in MiB or GiB.
func formatBytes(n int64) string {
	const mebi, gibi = 1 << 20, 1 << 30
	if n >= gibi {
		return fmt.Sprintf("%.1f GiB", float64(n)/gibi)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/mebi)
}
