package embedded

import (
	"log/slog"
	"slices"
	"sync/atomic"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"revtail/etcdstore/zaplog"
)

// expected are the warnings of each start, about intended settings.
var expected = []string{
	"Running http and grpc server on single port. This is not recommended for production.",
	"simple token is not cryptographically signed",
}

// quietCore reduces expected warnings, and all warnings while etcd closes, to Info, which zaplog logs at Debug.
type quietCore struct {
	zapcore.Core
	closing *atomic.Bool // a closing etcd logs an error for each listener
}

// newLogger returns a logger of etcd that writes to l and calls the hook. closing is true while etcd closes.
func newLogger(l *slog.Logger, hook *fatalHook, closing *atomic.Bool) *zap.Logger {
	if l == nil {
		l = slog.New(slog.DiscardHandler)
	}
	quiet := zap.WrapCore(func(c zapcore.Core) zapcore.Core { return quietCore{c, closing} })
	return zaplog.New(l).Named("etcd").WithOptions(quiet, zap.WithFatalHook(hook), zap.WithPanicHook(hook))
}

// With implements zapcore.Core.
func (c quietCore) With(fields []zapcore.Field) zapcore.Core {
	return quietCore{c.Core.With(fields), c.closing}
}

// Check implements zapcore.Core.
func (c quietCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	quiet := c.closing.Load() || slices.Contains(expected, entry.Message)
	if quiet && entry.Level > zapcore.InfoLevel && entry.Level < zapcore.DPanicLevel {
		entry.Level = zapcore.InfoLevel
	}
	return c.Core.Check(entry, checked)
}
