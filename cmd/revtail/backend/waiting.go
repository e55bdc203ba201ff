package backend

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"revtail/cmd/revtail/command"
	"revtail/etcdstore"
	"revtail/etcdstore/embedded"
	"revtail/gateway/config"
)

const (
	firstReport   = 400 * time.Millisecond // of an external etcd, which answers within 1/10 of it
	embeddedStart = 3 * time.Second        // a start of the embedded etcd with little data takes less
	nextReport    = 5 * time.Second
	diagnosis     = 500 * time.Millisecond // the time for the reason of a report
)

// waiting logs for what the start waits, and for how long it will.
type waiting struct {
	logger  *slog.Logger
	message string
	first   time.Duration // before the first report
	why     func(ctx context.Context) string
}

// during calls f, and logs until it has returned.
func (w *waiting) during(ctx context.Context, f func(ctx context.Context) error) error {
	reporting, stop := context.WithCancel(ctx)
	var reports sync.WaitGroup
	reports.Go(func() { w.report(reporting) })
	defer reports.Wait()
	defer stop()
	return f(ctx)
}

func (w *waiting) report(ctx context.Context) {
	next := time.NewTimer(w.first)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		next.Reset(nextReport)
		diagnosing, cancel := context.WithTimeout(ctx, diagnosis)
		why := w.why(diagnosing)
		cancel()
		if ctx.Err() != nil {
			return
		}
		attributes := []any{"why", why}
		if end, ok := ctx.Deadline(); ok {
			attributes = append(attributes, "timeLeft", time.Until(end).Round(time.Second).String())
		}
		w.logger.Warn(w.message, attributes...) //nolint:sloglint // one of two constants
	}
}

// diagnoseTLS is DiagnoseTLS for an external etcd.
func (b *Backend) diagnoseTLS(ctx context.Context, cfg config.Config) error {
	if !cfg.External() {
		return nil
	}
	return DiagnoseTLS(ctx, cfg)
}

// unreachable is the error after a time without an answer of etcd.
func (b *Backend) unreachable(ctx context.Context, cfg config.Config, after string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	why := b.diagnoseTLS(ctx, cfg)
	if why == nil {
		members := b.Store.Members(ctx)
		advice := "correct --etcd-endpoints, start etcd, or wait longer"
		if slices.ContainsFunc(members, func(m etcdstore.MemberStatus) bool { return m.Err == nil }) {
			advice = "correct --etcd-endpoints, start the other members of the cluster, or wait longer"
		}
		why = fmt.Errorf("%s (%s)", advice, unavailable(members))
	}
	return &command.ExitError{Code: command.ExitUnreachable, Err: fmt.Errorf("no answer from etcd at %s within %s: %w",
		strings.Join(cfg.EtcdEndpoints, ", "), after, why)}
}

// unavailable says why members do not serve requests, for each of them.
func unavailable(members []etcdstore.MemberStatus) string {
	reasons := make([]string, len(members))
	for i, m := range members {
		switch {
		case m.Err != nil:
			reasons[i] = m.Endpoint + ": " + etcdstore.Reason(m.Err)
		case !m.Leading:
			reasons[i] = m.Endpoint + ": no leader"
		default:
			reasons[i] = m.Endpoint + ": no answer to a linearizable read"
		}
	}
	return strings.Join(reasons, "; ")
}

// waitingForEmbedded reports a slow start of the embedded etcd, which reads its whole log and database.
func waitingForEmbedded(o Options, options embedded.Config) *waiting {
	return &waiting{logger: o.Logger, message: "waiting for the embedded etcd", first: embeddedStart, why: func(context.Context) string {
		if options.ConfigFile != "" {
			return "it reads its data and joins the cluster of " + options.ConfigFile + " (--embedded-config)"
		}
		var size int64
		for _, pattern := range []string{"snap/db", "wal/*.wal"} {
			files, _ := filepath.Glob(filepath.Join(options.DataDir, "member", filepath.FromSlash(pattern)))
			for _, file := range files {
				if info, err := os.Stat(file); err == nil {
					size += info.Size()
				}
			}
		}
		return fmt.Sprintf("it reads %d MiB of data in %s (--data-dir)", size>>20, options.DataDir)
	}}
}
