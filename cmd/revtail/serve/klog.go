package serve

import (
	"context"
	"log/slog"

	"k8s.io/klog/v2"
)

// logKubernetes sends what the packages of Kubernetes log, with klog, to a logger. It is called once, before they are used.
func logKubernetes(logger *slog.Logger) { klog.SetSlogLogger(slog.New(debugHandler{logger.Handler()})) }

// debugHandler logs at the level debug, because the gateway reports what concerns operators itself, once. It leaves out klog's levels above 4, which have
// the bodies of requests to webhooks.
type debugHandler struct{ slog.Handler }

// Enabled implements slog.Handler.
func (h debugHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelDebug && h.Handler.Enabled(ctx, slog.LevelDebug)
}

// Handle implements slog.Handler. It asks whether the level is enabled, because klog does not ask before it reports an error.
func (h debugHandler) Handle(ctx context.Context, record slog.Record) error {
	if !h.Enabled(ctx, record.Level) {
		return nil
	}
	record.Level = slog.LevelDebug
	return h.Handler.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (h debugHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return debugHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h debugHandler) WithGroup(name string) slog.Handler {
	return debugHandler{h.Handler.WithGroup(name)}
}
