// Package top has the command top, which shows what gateways and their etcd are doing.
package top

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/client"
	"revtail/cmd/revtail/command"
	"revtail/cmd/revtail/completion"
)

const longHelp = `Show what gateways and their etcd are doing: watches by user and resource, clients that do not keep up, deliveries per second, requests in
flight and refused, processor time and memory, the members of etcd with their leader, size, latency and alarms, and how far caches are behind.

The data is that of /metrics, /debug/watchers, /debug/flows and /readyz. With --admin-listen these are at that address: name it with --server.
With a policy they need rules with nonResourceURLs. What the gateway does not allow is named, and the rest is shown.

On a terminal the display is refreshed every --interval. Keys: q quits; tab, or 1 to 4, selects watches, users, slow clients or caches; s sorts by
the next column, S by the one before; j, k, the arrows, space and b scroll; g and G go to the ends. Without a terminal, and with --once, top prints the
state once, after --interval, which rates need. CPU of 100% is one processor.`

const examples = `  # a gateway on this machine
  revtail top

  # at the listener for operators of a gateway with --admin-listen unix:///run/revtail/admin.sock
  revtail top --server unix:///run/revtail/admin.sock

  # two gateways of one etcd, with a token whose rules have nonResourceURLs /metrics, /debug/watchers and /debug/flows
  revtail top --server https://gw-0:8443,https://gw-1:8443 --cacert ca.crt --token-file token

  # for a script
  revtail top -o json | jq '.watches[] | select(.late > 0)'`

// NewCommand returns the command top.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "top",
		GroupID: command.GroupOperate,
		Short:   "Show what gateways and their etcd are doing, live",
		Long:    longHelp,
		Example: examples,
	}
	o := options{}
	cmd.Flags().SortFlags = false
	cmd.Flags().DurationVar(&o.interval, "interval", 2*time.Second, "`time` between two reports, of which rates are the mean")
	cmd.Flags().BoolVar(&o.once, "once", false, "print the state once, also on a terminal")
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "`format`: json, which is printed once; none: a display or a text")
	o.gateway.AddFlags(cmd.Flags())
	completion.Gateway(cmd, &o.gateway)
	completion.Values(cmd, "output", "json")
	cmd.RunE = command.NoArgs(func(cmd *cobra.Command) error {
		switch {
		case o.output != "" && o.output != "json":
			return command.UsageError(fmt.Errorf("--output %q: want json, or nothing", o.output))
		case o.interval < minInterval:
			return command.UsageError(fmt.Errorf("--interval %v: want %v or more, as 2s", o.interval, minInterval))
		}
		return o.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
	})
	return cmd
}

// minInterval keeps top from being a load.
const minInterval = 100 * time.Millisecond

type options struct {
	gateway  client.Config
	interval time.Duration
	once     bool
	output   string
}

func (o *options) run(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	sources, err := o.sources()
	if err != nil {
		return command.UsageError(err)
	}
	defer func() {
		for _, s := range sources {
			s.client.Close()
		}
	}()
	if o.once || o.output == "json" || !command.IsTerminal(stdin) || !command.IsTerminal(stdout) || os.Getenv("TERM") == "dumb" {
		return o.print(ctx, sources, stdout)
	}
	ctx, cancel := context.WithCancel(ctx)
	reports := make(chan report)
	var polling group
	polling.Go(func() {
		defer close(reports) // also after a panic
		o.poll(ctx, sources, reports)
	})
	defer polling.Wait()
	defer cancel()
	colors, _ := command.UseColor("auto", stdout)
	s := &screen{in: stdin.(*os.File), out: stdout.(*os.File), style: style(colors), interval: o.interval}
	return s.run(ctx, reports)
}

// sources returns the gateways of --server.
func (o *options) sources() ([]source, error) {
	each, err := o.gateway.Each()
	if err != nil {
		return nil, err
	}
	var out []source
	for _, config := range each {
		c, err := client.New(config)
		if err != nil {
			return nil, err
		}
		out = append(out, source{name: config.Servers[0], client: c})
	}
	return out, nil
}

// poll sends a report per interval until ctx ends, and one at once, without rates.
func (o *options) poll(ctx context.Context, sources []source, reports chan<- report) {
	tick := time.NewTicker(o.interval)
	defer tick.Stop()
	now := takeAll(ctx, sources)
	before := now
	for {
		select {
		case reports <- newReport(sources, before, now):
		case <-ctx.Done():
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		before, now = now, takeAll(ctx, sources)
	}
}

// print prints one report.
func (o *options) print(ctx context.Context, sources []source, stdout io.Writer) error {
	before := takeAll(ctx, sources)
	for _, s := range before {
		if s.readyErr == nil {
			select {
			case <-time.After(o.interval):
			case <-ctx.Done():
				return errors.New("interrupted")
			}
			break
		}
	}
	after := takeAll(ctx, sources)
	r := newReport(sources, before, after)
	var err error
	if o.output == "json" {
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(r)
	} else {
		_, err = io.WriteString(stdout, r.print())
	}
	if err != nil {
		return err
	}
	for _, s := range after {
		if s.readyErr == nil {
			return nil
		}
	}
	return fmt.Errorf("no gateway answers: %w", after[0].readyErr)
}

// answerTimeout bounds the answers of a gateway.
const answerTimeout = 5 * time.Second

// takeAll asks all gateways at once.
func takeAll(ctx context.Context, sources []source) []*sample {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	out := make([]*sample, len(sources))
	var gateways group
	for i, s := range sources {
		gateways.Go(func() { out[i] = s.take(ctx) })
	}
	gateways.Wait()
	return out
}
