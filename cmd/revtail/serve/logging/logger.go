package logging

import (
	"bytes"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"revtail/cmd/revtail/command"
	"revtail/gateway/config"
)

// New makes the logger of the process, which writes to w. flush writes the queued lines and ends the logger.
func New(cfg config.Config, w io.Writer) (logger *slog.Logger, flush func()) {
	text := cfg.LogFormat == config.LogText || cfg.LogFormat == config.LogAuto && command.IsTerminal(w)
	handler := func(w io.Writer) slog.Handler {
		options := &slog.HandlerOptions{Level: cfg.LogLevel}
		if text {
			return slog.NewTextHandler(w, options)
		}
		return slog.NewJSONHandler(w, options)
	}
	queue := newAsyncWriter(w, func(dropped uint64) {
		slog.New(handler(w)).Warn("lines are missing from this log: its reader was too slow", "lines", dropped)
	})
	return slog.New(handler(queue)), queue.Close
}

const (
	queueLength  = 4096        // lines; more than a busy second has
	closeTimeout = time.Second // for the last lines
)

// asyncWriter queues lines and writes them from its own goroutine. When the destination blocks, as a terminal does after Ctrl-S,
// it drops and counts lines, because etcd logs while it holds locks and would block too.
type asyncWriter struct {
	to      io.Writer
	report  func(dropped uint64) // may write to the same destination
	lines   chan []byte
	dropped atomic.Uint64 // since the last report
	lost    atomic.Uint64 // since the start
	closing chan struct{} // closed by Close
	done    chan struct{} // closed after the last write
}

// newAsyncWriter starts the goroutine, which Close ends. After dropped lines, report is called with their number.
func newAsyncWriter(to io.Writer, report func(dropped uint64)) *asyncWriter {
	w := &asyncWriter{
		to: to, report: report, lines: make(chan []byte, queueLength),
		closing: make(chan struct{}), done: make(chan struct{}),
	}
	go w.run()
	return w
}

// Write queues one line. It never blocks and never fails.
func (w *asyncWriter) Write(line []byte) (int, error) {
	select {
	case w.lines <- bytes.Clone(line):
	default:
		w.dropped.Add(1)
		w.lost.Add(1)
	}
	return len(line), nil
}

// Close writes the queued lines, for a second at most. Later lines are lost.
func (w *asyncWriter) Close() {
	close(w.closing)
	select {
	case <-w.done:
	case <-time.After(closeTimeout):
	}
}

func (w *asyncWriter) run() {
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

func (w *asyncWriter) write(line []byte) {
	_, _ = w.to.Write(line) // an error of the log cannot be logged
	if n := w.dropped.Swap(0); n > 0 {
		w.report(n)
	}
}
