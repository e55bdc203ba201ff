package logging

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
)

// AuditFile is the file of the audit log. It drops and counts records that cannot be written as fast as requests arrive, because a
// full disk or a slow reader must not stop the gateway.
type AuditFile struct {
	file    *appendFile
	queue   *AsyncWriter
	dropped prometheus.CounterFunc
}

// OpenAuditFile opens the audit log; path "-" is stdout. The caller closes it.
func OpenAuditFile(path string, stdout io.Writer, logger *slog.Logger) (*AuditFile, error) {
	file, err := openAppendFile(path, stdout, logger)
	if err != nil {
		return nil, fmt.Errorf("--audit-log-path: %w", err)
	}
	a := &AuditFile{file: file, queue: NewAsyncWriter(file, func(dropped uint64) {
		logger.Warn("records are missing from the audit log: it could not be written as fast as requests came", "records", dropped)
	})}
	a.dropped = prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "revtail_audit_dropped_total", Help: "Records that are missing from the audit log.",
	}, func() float64 { return float64(a.queue.Lost() + file.failed.Load()) })
	return a, nil
}

// Write queues a record. It never blocks and never fails.
func (a *AuditFile) Write(record []byte) (int, error) { return a.queue.Write(record) }

// Close writes the queued records, for a second at most.
func (a *AuditFile) Close() { a.queue.Close() }

// Reload opens the file again, because another program may have renamed it.
func (a *AuditFile) Reload() { a.file.reopen() }

// Run does nothing: the queue writes from its own goroutine.
func (*AuditFile) Run(context.Context) error { return nil }

// Describe implements prometheus.Collector.
func (a *AuditFile) Describe(out chan<- *prometheus.Desc) { a.dropped.Describe(out) }

// Collect implements prometheus.Collector.
func (a *AuditFile) Collect(out chan<- prometheus.Metric) { a.dropped.Collect(out) }
