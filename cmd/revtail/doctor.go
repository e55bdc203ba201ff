package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/command"
	"revtail/gateway/config"
)

func newDoctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find out what is wrong with etcd, a gateway, or the road between, and what to do",
		Long: `Look at etcd and at a gateway from where this command runs, and say what is wrong and what to do.

Of etcd: is it reached, with TLS and login; versions, quorum, alarms, room, history, and whether what is under the prefix can
be shown. It is found as 'revtail serve' finds it: by flags, REVTAIL_… in the environment, and --config.

Of the gateway: is it ready, do clocks and versions agree, is it one of this etcd, and does a watch arrive at once, or does a proxy
hold it back. With --idle it waits that long for a proxy that cuts silent streams. It says which setting of the proxy to change.

Exit with 0 when nothing is wrong, warnings aside, else with 1.`,
	}
	d := &doctor{}
	flags := config.AddEtcdFlags(cmd.Flags())
	d.access.AddFlags(cmd.Flags())
	cmd.Flags().DurationVar(&d.idle, "idle", 0, "keep a silent watch open for this `duration`, to see whether it is cut")
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

// verdict is what a check has found.
type verdict string

const (
	fine    verdict = "ok"
	warning verdict = "warn"
	bad     verdict = "FAIL"
	skipped verdict = "skip"
)

// report writes a finding; do says what to do about it, where something is to be done.
func (d *doctor) report(v verdict, what, finding, do string) {
	if v == bad {
		d.wrong++
	}
	lines := fmt.Sprintf("%-4s  %-9s %s\n", v, what, finding)
	if do != "" {
		lines += fmt.Sprintf("%16s→ %s\n", "", do)
	}
	_, _ = io.WriteString(d.out, strings.ToValidUTF8(lines, "�")) // the exit code says it too
}

// run makes all checks. It says how many have found something wrong.
func (d *doctor) run(ctx context.Context) error {
	d.checkEtcd(ctx)
	for _, server := range d.access.Servers {
		one := d.access
		one.Servers = []string{server}
		d.checkGateway(ctx, server, one)
	}
	if d.store != nil {
		_ = d.store.Close() // nothing was written
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if d.wrong > 0 {
		return fmt.Errorf("%d of these checks found something wrong", d.wrong)
	}
	return nil
}

// took is a time as people read it.
func took(since time.Time) time.Duration { return time.Since(since).Round(100 * time.Microsecond) }

// bytesOf is a size as people read it.
func bytesOf(n int64) string {
	const mega, giga = 1 << 20, 1 << 30
	if n >= giga {
		return fmt.Sprintf("%.1f GiB", float64(n)/giga)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/mega)
}
