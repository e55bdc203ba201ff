package main

import (
	"bytes"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"revtail/cmd/revtail/command"
	"revtail/gateway/config"
)

const (
	logBacklog = 4096        // lines; more than a busy second has
	logFlush   = time.Second // how long the last lines may take at the end
)

// newLogger makes the log of the process on w. flush writes what is left of it and ends it.
func newLogger(cfg config.Config, w io.Writer) (logger *slog.Logger, flush func()) {
	text := cfg.LogFormat == config.LogText || cfg.LogFormat == config.LogAuto && command.IsTerminal(w)
	handler := func(w io.Writer) slog.Handler {
		options := &slog.HandlerOptions{Level: cfg.LogLevel}
		if text {
			return slog.NewTextHandler(w, options)
		}
		return slog.NewJSONHandler(w, options)
	}
	backlog := newLogWriter(w, func(dropped uint64) {
		slog.New(handler(w)).Warn("lines are missing from this log: its reader was too slow", "lines", dropped)
	})
	return slog.New(handler(backlog)), backlog.Close
}

// logWriter takes log lines and writes them from a goroutine of its own. When the reader at the other end stands still,
// as a terminal does after Ctrl-S, lines are dropped and counted: otherwise etcd, which logs while it holds locks, would
// stand still too.
type logWriter struct {
	to      io.Writer
	report  func(dropped uint64) // writes to the same place
	lines   chan []byte
	dropped atomic.Uint64 // since the last report
	lost    atomic.Uint64 // in all
	closing chan struct{} // closed by Close
	done    chan struct{} // closed when everything is written
}

func newLogWriter(to io.Writer, report func(dropped uint64)) *logWriter {
	w := &logWriter{
		to: to, report: report, lines: make(chan []byte, logBacklog),
		closing: make(chan struct{}), done: make(chan struct{}),
	}
	go w.run()
	return w
}

// Write takes one line. It never waits and never fails.
func (w *logWriter) Write(line []byte) (int, error) {
	select {
	case w.lines <- bytes.Clone(line):
	default:
		w.dropped.Add(1)
		w.lost.Add(1)
	}
	return len(line), nil
}

// Close writes what there is, for a second at most. Lines that come later are lost.
func (w *logWriter) Close() {
	close(w.closing)
	select {
	case <-w.done:
	case <-time.After(logFlush):
	}
}

func (w *logWriter) run() {
	defer close(w.done)
	for {
		select {
		case line := <-w.lines:
			w.write(line)
		case <-w.closing:
			for len(w.lines) > 0 {
				w.write(<-w.lines)
			}
			return
		}
	}
}

func (w *logWriter) write(line []byte) {
	_, _ = w.to.Write(line) // there is nowhere to say that the log cannot be written
	if n := w.dropped.Swap(0); n > 0 {
		w.report(n)
	}
}
