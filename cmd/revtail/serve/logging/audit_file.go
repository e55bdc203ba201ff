package logging

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// AuditFile is the file of the audit log. It drops and counts records that cannot be written as fast as requests arrive, because a
// full disk or a slow reader must not stop the gateway.
type AuditFile struct {
	prometheus.Collector // the number of missing records
	*asyncWriter
	file *appendFile
}

// OpenAuditFile opens the audit log; path "-" is stdout. The caller closes it.
func OpenAuditFile(path string, stdout io.Writer, logger *slog.Logger) (*AuditFile, error) {
	file, err := openAppendFile(path, stdout, logger)
	if err != nil {
		return nil, fmt.Errorf("--audit-log-path: %w", err)
	}
	queue := newAsyncWriter(file, func(dropped uint64) {
		logger.Warn("records are missing from the audit log, because the file is written more slowly than requests arrive", "records", dropped)
	})
	dropped := prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "revtail_audit_dropped_total", Help: "Records that are missing from the audit log.",
	}, func() float64 { return float64(queue.lost.Load() + file.failed.Load()) })
	return &AuditFile{dropped, queue, file}, nil
}

// Reload opens the file again, because another program may have renamed it.
func (a *AuditFile) Reload() { a.file.reopen() }

// Run does nothing: the queue writes from its own goroutine.
func (*AuditFile) Run(context.Context) error { return nil }

// appendFile appends records to a file that may be opened again.
type appendFile struct {
	path   string
	logger *slog.Logger
	failed atomic.Uint64 // records that were not written completely

	mu sync.Mutex // guards the field below
	to io.WriteCloser

	// Only Write, which is never called twice at once, uses the fields below.
	failing    bool // the last record failed, and the failure is logged
	incomplete bool // the file ends in a part of a record
}

// openAppendFile opens a file, or standard output if path is "-".
func openAppendFile(path string, stdout io.Writer, logger *slog.Logger) (*appendFile, error) {
	f := &appendFile{path: path, logger: logger, to: nopCloser{stdout}}
	if path == "-" {
		return f, nil
	}
	var err error
	f.to, err = openAppending(path)
	return f, err
}

// nopCloser is standard output, which the process does not close.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

func openAppending(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

// Write writes a record. It begins a new line after an incomplete record, as a full disk leaves one, so that the next is readable.
func (f *appendFile) Write(record []byte) (int, error) {
	f.mu.Lock()
	to := f.to
	f.mu.Unlock()
	if f.incomplete {
		record = append([]byte{'\n'}, record...)
	}
	n, err := to.Write(record)
	if n > 0 {
		f.incomplete = n < len(record)
	}
	if err != nil {
		f.failed.Add(1)
		if !f.failing {
			f.logger.Warn("the audit log cannot be written: records are missing from it", "error", err)
		}
	}
	f.failing = err != nil
	return n, err
}

// reopen opens the path again, because another program may have renamed the file.
func (f *appendFile) reopen() {
	if f.path == "-" {
		return
	}
	next, err := openAppending(f.path)
	if err != nil {
		f.logger.Warn("the audit log cannot be opened again: records still go to the previous file", "error", err)
		return
	}
	f.mu.Lock()
	before := f.to
	f.to = next
	f.mu.Unlock()
	_ = before.Close() // a concurrent write may fail, and counts as failed
}
