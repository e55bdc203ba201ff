package logging

import (
	"io"
	"log/slog"

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
	queue := NewAsyncWriter(w, func(dropped uint64) {
		slog.New(handler(w)).Warn("lines are missing from this log: its reader was too slow", "lines", dropped)
	})
	return slog.New(handler(queue)), queue.Close
}
