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

// clientLogger logs one message of each kind per ten seconds, because the client warns at each retry, 40 per second.
func clientLogger(l *slog.Logger) *zap.Logger {
	if l == nil {
		return zap.NewNop()
	}
	return zaplog.New(l).Named("etcd-client").WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core {
		return zapcore.NewSamplerWithOptions(outOfRangeFilter{c}, 10*time.Second, 1, 0)
	}))
}

// outOfRangeFilter drops the warnings about compacted and future revisions, because these are normal responses.
type outOfRangeFilter struct{ zapcore.Core }

// With implements zapcore.Core.
func (f outOfRangeFilter) With(fields []zapcore.Field) zapcore.Core {
	return outOfRangeFilter{f.Core.With(fields)}
}

// Check implements zapcore.Core.
func (f outOfRangeFilter) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if f.Enabled(entry.Level) {
		return checked.AddCore(entry, f)
	}
	return checked
}

// Write implements zapcore.Core.
func (f outOfRangeFilter) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	for _, field := range fields {
		if err, ok := field.Interface.(error); ok && status.Code(err) == codes.OutOfRange {
			return nil
		}
	}
	return f.Core.Write(entry, fields)
}
