package embedded

import (
	"log/slog"
	"slices"
	"sync/atomic"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"revtail/etcdstore/zaplog"
)

// talk is what etcd warns of in every start, about choices that are meant here.
var talk = []string{
	"Running http and grpc server on single port. This is not recommended for production.",
	"simple token is not cryptographically signed",
}

// quietCore lets an operator see warnings only when something is wrong: what is not worth one becomes talk, which zaplog
// shows at level debug.
type quietCore struct {
	zapcore.Core
	closing *atomic.Bool // an etcd that is closed logs an error for each of its listeners
}

// newLogger passes etcd's log on to l, and ends in the hook. closing says that etcd is being closed.
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
	isTalk := c.closing.Load() || slices.Contains(talk, entry.Message)
	if isTalk && entry.Level > zapcore.InfoLevel && entry.Level < zapcore.DPanicLevel {
		entry.Level = zapcore.InfoLevel
	}
	return c.Core.Check(entry, checked)
}
