// Command watchers measures one gateway with many watchers over HTTP/2, of which each connection has a hundred: what an idle watch takes of
// memory, how fast watches open, how long one event takes to the last of them, what that costs, and what remains when all have left. The gateway
// and its etcd are processes of their own; this process is the load.
//
//	go run ./gateway/gatewaytest/watchers -watchers 5000,20000    a line of the table for each number
//	go run ./gateway/gatewaytest/watchers -watchers 40000 -replicas 4 behind a balancer
//	go run ./gateway/gatewaytest/watchers -model                  costs as a function of watchers, events and objects, with its error
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"revtail/gateway/gatewaytest/program"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM) //nolint:forbidigo // the root context
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		_, _ = fmt.Fprintln(os.Stderr, "watchers:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	watchers, etcd, revtail, profiles string
	rate, churn                       float64
	events, objects, replicas         int
	balancer                          string
	idle, left                        time.Duration
	wide, model                       bool
}

func parseOptions(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("watchers", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.watchers, "watchers", "5000,20000", "`numbers` of watchers, comma separated: a line of the table for each")
	flags.Float64Var(&o.rate, "rate", 5000, "how many watches are opened a second; 0: as fast as the gateway opens them")
	flags.IntVar(&o.events, "events", 10, "how many events are measured, with and without churn")
	flags.Float64Var(&o.churn, "churn", 0.01, "the share of the watchers that leave and come back in each second of the churn")
	flags.IntVar(&o.objects, "objects", 100, "how many objects of 1 KiB are watched")
	flags.IntVar(&o.replicas, "replicas", 1, "how many gateways share the watchers, behind HAProxy as in the compose stack; memory and processor time are those of one of them, on average")
	flags.StringVar(&o.balancer, "balancer", "deploy/haproxy.cfg", "configuration `file` of HAProxy")
	flags.DurationVar(&o.idle, "idle", 20*time.Second, "how long after the last watch was opened the memory is read")
	flags.DurationVar(&o.left, "left", 60*time.Second, "how long after the last watch has ended the memory is read")
	flags.BoolVar(&o.wide, "wide", false, "clients extend a window when half of it is used, not after every 4 KiB as Go's client does")
	flags.BoolVar(&o.model, "model", false, "fit costs as functions of watchers, events and objects to nine measured points, without churn")
	flags.StringVar(&o.profiles, "profiles", "", "`folder` for profiles of the gateway; empty: none")
	flags.StringVar(&o.etcd, "etcd", "bin/tools/etcd", "the `program`")
	flags.StringVar(&o.revtail, "revtail", "bin/revtail", "the `program`")
	return o, flags.Parse(args)
}

// point is the load of one line.
type point struct{ watchers, objects int }

// points returns what is measured, in order.
func (o options) points() ([]point, error) {
	var points []point
	if o.model {
		for _, objects := range []int{100, 10_000, 40_000} {
			for _, watchers := range []int{1000, 10_000, 30_000} {
				points = append(points, point{watchers, objects})
			}
		}
		return points, nil
	}
	for word := range strings.SplitSeq(o.watchers, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n <= 0 {
			return nil, fmt.Errorf("-watchers %q: want numbers as 5000,20000", o.watchers)
		}
		points = append(points, point{n, o.objects})
	}
	return points, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o, err := parseOptions(args, stderr)
	if err != nil {
		return err
	}
	if o.replicas < 1 {
		return fmt.Errorf("-replicas %d: want 1 or more", o.replicas)
	}
	if o.model {
		o.churn, o.left = 0, 0
	}
	points, err := o.points()
	if err != nil {
		return err
	}
	if _, err := program.RaiseFileLimit(); err != nil {
		return err
	}
	for _, path := range []*string{&o.etcd, &o.revtail, &o.profiles} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	say := func(format string, args ...any) {
		_, _ = fmt.Fprintf(stderr, "%s "+format+"\n", append([]any{time.Now().Format("15:04:05")}, args...)...) // an error does not matter
	}
	var results []result
	for _, p := range points {
		r, measured := measure(ctx, o, p, say)
		if measured != nil {
			err = fmt.Errorf("%d watchers: %w", p.watchers, measured)
			break
		}
		results = append(results, r)
	}
	if err = errors.Join(err, writeTable(stdout, results)); err != nil || !o.model {
		return err
	}
	return writeModel(stdout, results)
}
