package etcdstore

import (
	"log/slog"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"revtail/etcdstore/zaplog"
)

// clientLogger lets one message in ten seconds through of each kind: the client warns at every retry, forty a second.
func clientLogger(l *slog.Logger) *zap.Logger {
	if l == nil {
		return zap.NewNop()
	}
	return zaplog.New(l).Named("etcd-client").WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(answers{c}, 10*time.Second, 1, 0)
	}))
}

// answers drops warnings of a revision that is compacted, or not there yet: that is an answer, which is often asked for.
type answers struct{ zapcore.Core }

// With implements zapcore.Core.
func (a answers) With(fields []zapcore.Field) zapcore.Core { return answers{a.Core.With(fields)} }

// Check implements zapcore.Core.
func (a answers) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if a.Enabled(entry.Level) {
		return checked.AddCore(entry, a)
	}
	return checked
}

// Write implements zapcore.Core.
func (a answers) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	for _, field := range fields {
		if err, ok := field.Interface.(error); ok && status.Code(err) == codes.OutOfRange {
			return nil
		}
	}
	return a.Core.Write(entry, fields)
}
