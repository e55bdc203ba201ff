package webserver

import (
	"context"
	"log/slog"
	"strings"
)

// errorHandler is the log handler of http.Server. It lowers errors that any client can cause to debug level.
type errorHandler struct{ slog.Handler }

// Enabled implements slog.Handler. It is always true, because net/http logs at one level and Handle chooses the real one.
func (errorHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (h errorHandler) Handle(ctx context.Context, r slog.Record) error {
	for _, prefix := range []string{"http: TLS handshake error", "http2: server: error reading preface", "http2: server connection error"} {
		if strings.HasPrefix(r.Message, prefix) {
			r.Level = slog.LevelDebug
		}
	}
	if !h.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}
