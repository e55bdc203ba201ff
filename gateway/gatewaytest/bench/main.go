// Command bench measures the gateway as a black box: the real program, real connections, and peers that only send prepared bytes. Each peer
// is a separate process, the operating system measures the cost of a server, and every round checks that each client got every event once
// and in order.
//
//	go run ./gateway/gatewaytest/bench             the table of goals; -quick: smaller, one round
//	go run ./gateway/gatewaytest/bench -row fanout only rows with fanout in their name
//	go run ./gateway/gatewaytest/bench -diff REF   the working tree against another commit, measured in turns
//	go run ./gateway/gatewaytest/bench -growth     how cost grows with watchers, objects and events: tables and an SVG
//	go run ./gateway/gatewaytest/bench -kubernetes beside a kube-apiserver on the same work: a document with tables and plots
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) //nolint:forbidigo // the root context
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		_, _ = fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	rows, etcd, kubeAPIServer, binary, out, diff, svg string
	quick, growth, kubernetes                         bool
	rounds                                            int
}

func parseOptions(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.rows, "row", "", "measure only the rows, or curves, whose name contains one of these `words`, comma separated")
	flags.BoolVar(&o.quick, "quick", false, "smaller, and one round")
	flags.IntVar(&o.rounds, "rounds", 0, "how many rounds; 0: three, with -quick one")
	flags.StringVar(&o.etcd, "etcd", "bin/tools/etcd", "the `program`")
	flags.StringVar(&o.kubeAPIServer, "kube-apiserver", "bin/tools/kube-apiserver", "the `program`")
	flags.StringVar(&o.binary, "revtail", "", "the `program`; empty: it is built from the working tree")
	flags.StringVar(&o.out, "json", "bin/bench.json", "`file` for the report")
	flags.StringVar(&o.diff, "diff", "", "compare the working tree with this `commit`, instead of with peers")
	flags.BoolVar(&o.growth, "growth", false, "measure how cost grows, instead of the table of goals")
	flags.BoolVar(&o.kubernetes, "kubernetes", false, "compare with kube-apiserver, instead of the table of goals")
	flags.StringVar(&o.svg, "svg", "bin/bench-growth.svg", "with -growth: `file` for the plot")
	return o, flags.Parse(args)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	if len(args) > 0 && args[0] == "peer" {
		return runPeer(ctx, args[1:], stdout)
	}
	o, err := parseOptions(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	s, err := newStage(stderr)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.prepare(ctx, o); err != nil {
		return err
	}
	switch {
	case o.growth:
		return runGrowth(ctx, s, o, stdout)
	case o.kubernetes:
		return runKubernetes(ctx, s, o, stdout)
	case o.diff != "":
		return runDiff(ctx, s, o, stdout)
	default:
		return runTable(ctx, s, o, stdout)
	}
}

// runTable measures the rows, and fails when a check fails. A missed goal is only shown in the table.
func runTable(ctx context.Context, s *stage, o options, stdout io.Writer) error {
	r := newReport(ctx, s)
	r.Quick = o.quick
	for _, row := range selected(rows(s.size), o.rows) {
		r.add(s.measure(ctx, row), s.products[0].name)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if err := r.table(stdout); err != nil {
		return err
	}
	if err := r.save(o.out); err != nil {
		return err
	}
	if r.failed() {
		return errors.New("a check failed: the table says which")
	}
	return nil
}

// selected returns the rows with one of the words in their name; no words: all.
func selected(rows []row, words string) []row {
	return named(rows, words, func(r row) string { return r.name })
}

// named returns the items with one of the words in their name; no words: all.
func named[T any](all []T, words string, name func(T) string) []T {
	var chosen []T
	for _, one := range all {
		for word := range strings.SplitSeq(words, ",") {
			if strings.Contains(name(one), word) {
				chosen = append(chosen, one)
				break
			}
		}
	}
	return chosen
}
