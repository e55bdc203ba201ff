package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"revtail/gateway/access/audit"
)

// auditFile is the file of the audit log. When it cannot be written as fast as requests come, records are dropped and counted:
// a disk that is full, or a reader that stands still, must not stop the gateway.
type auditFile struct {
	path    string
	logger  *slog.Logger
	backlog *logWriter
	metric  prometheus.CounterFunc

	mu sync.Mutex // guards the field below
	to io.WriteCloser

	// Only the goroutine of the backlog uses the fields below.
	failing bool // the last record could not be written, and that has been told
	torn    bool // a part of it was
}

// openAudit opens the audit log, if there is to be one. At the end of the process, closeAudit writes what is left of it.
func (p *process) openAudit(stdout io.Writer) error {
	if p.cfg.AuditLogPath == "" || audit.Level(p.cfg.AuditLevel) == audit.None {
		return nil
	}
	f := &auditFile{path: p.cfg.AuditLogPath, logger: p.logger}
	if f.path == "-" {
		f.to = keptOpen{stdout}
	} else {
		to, err := openAppending(f.path)
		if err != nil {
			return fmt.Errorf("--audit-log-path: %w", err)
		}
		f.to = to
	}
	f.backlog = newLogWriter(f, func(dropped uint64) {
		p.logger.Warn("records are missing from the audit log: it could not be written as fast as requests came", "records", dropped)
	})
	f.metric = prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "revtail_audit_dropped_total", Help: "Records that are missing from the audit log.",
	}, func() float64 { return float64(f.backlog.lost.Load()) })
	p.audit = f
	return nil
}

// keptOpen is what is not ours to close.
type keptOpen struct{ io.Writer }

func (keptOpen) Close() error { return nil }

func openAppending(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

func (p *process) closeAudit() {
	if p.audit != nil {
		p.audit.backlog.Close()
	}
}

// auditLog is nil when there is none.
func (p *process) auditLog() *audit.Log {
	if p.audit == nil {
		return nil
	}
	return audit.New(audit.Level(p.cfg.AuditLevel), p.audit.backlog)
}

// Write writes a line to the file. One that was written in part, as on a disk that is full, spoils no other.
func (f *auditFile) Write(line []byte) (int, error) {
	f.mu.Lock()
	to := f.to
	f.mu.Unlock()
	if f.torn {
		line = append([]byte{'\n'}, line...)
	}
	n, err := to.Write(line)
	if n > 0 {
		f.torn = n < len(line)
	}
	if err != nil {
		f.backlog.lost.Add(1)
		if !f.failing {
			f.logger.Warn("the audit log cannot be written: records are missing from it", "error", err)
		}
	}
	f.failing = err != nil
	return n, err
}

// Reload opens the file of that name again: another program has put the old one away.
func (f *auditFile) Reload() {
	if f.path == "-" {
		return
	}
	next, err := openAppending(f.path)
	if err != nil {
		f.logger.Warn("the audit log cannot be opened again: it goes on in the file of before", "error", err)
		return
	}
	f.mu.Lock()
	before := f.to
	f.to = next
	f.mu.Unlock()
	_ = before.Close() // a write under way may fail, and is counted then
}

// Run has nothing to do: the backlog has a goroutine that nobody needs to wait for.
func (*auditFile) Run(context.Context) error { return nil }

// Describe implements prometheus.Collector.
func (f *auditFile) Describe(out chan<- *prometheus.Desc) { f.metric.Describe(out) }

// Collect implements prometheus.Collector.
func (f *auditFile) Collect(out chan<- prometheus.Metric) { f.metric.Collect(out) }
