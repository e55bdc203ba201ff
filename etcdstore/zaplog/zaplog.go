// Package zaplog forwards the logs of etcd, which uses zap, to log/slog.
package zaplog

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// New returns a logger whose entries go to l, with their fields and the level of levelOf. Entries of a named logger have the attribute
// "logger". Fatal and Panic of zap still end the process.
func New(l *slog.Logger) *zap.Logger { return zap.New(&core{handler: l.Handler()}) }

// core is a zapcore.Core on a slog.Handler.
type core struct {
	handler slog.Handler
}

// levelOf maps a level of etcd to a level of the gateway. Info of etcd becomes Debug, because etcd logs dozens of lines at a start that
// require no action. Debug of etcd is below Debug, because it logs each request.
func levelOf(l zapcore.Level) slog.Level {
	switch {
	case l < zapcore.InfoLevel:
		return slog.LevelDebug - 4
	case l == zapcore.InfoLevel:
		return slog.LevelDebug
	case l == zapcore.WarnLevel:
		return slog.LevelWarn
	default:
		return slog.LevelError
	}
}

// retriedUpdate is the message of an error of etcd that is a warning: at its first start etcd may want to store its version before it has stored a term, and it
// tries again some seconds later.
const retriedUpdate = "failed to update storage version"

// levelOfEntry returns the level of an entry: that of levelOf, but for retriedUpdate.
func levelOfEntry(ent *zapcore.Entry) slog.Level {
	if ent.Message == retriedUpdate {
		return slog.LevelWarn
	}
	return levelOf(ent.Level)
}

// Enabled implements zapcore.LevelEnabler.
func (c *core) Enabled(l zapcore.Level) bool {
	return c.handler.Enabled(context.Background(), levelOf(l)) //nolint:forbidigo // zap has no context
}

// With implements zapcore.Core.
func (c *core) With(fields []zapcore.Field) zapcore.Core {
	return &core{handler: c.handler.WithAttrs(attrs(fields))}
}

// Check implements zapcore.Core.
func (c *core) Check(ent zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if !c.handler.Enabled(context.Background(), levelOfEntry(&ent)) { //nolint:forbidigo // zap has no context
		return ce
	}
	return ce.AddCore(ent, c)
}

// Write implements zapcore.Core.
func (c *core) Write(ent zapcore.Entry, fields []zapcore.Field) error {
	var pc uintptr
	if ent.Caller.Defined {
		pc = ent.Caller.PC
	}
	record := slog.NewRecord(ent.Time, levelOfEntry(&ent), ent.Message, pc)
	if ent.LoggerName != "" {
		record.AddAttrs(slog.String("logger", ent.LoggerName))
	}
	record.AddAttrs(attrs(fields)...)
	if ent.Stack != "" {
		record.AddAttrs(slog.String("stack", ent.Stack))
	}
	return c.handler.Handle(context.Background(), record) //nolint:forbidigo // zap has no context
}

// Sync implements zapcore.Core. A slog.Handler has no buffer.
func (c *core) Sync() error { return nil }

// attrs returns fields in their order. It does not support zap.Namespace, which etcd never uses.
func attrs(fields []zapcore.Field) []slog.Attr {
	out := make([]slog.Attr, 0, len(fields))
	for _, f := range fields {
		encoded := zapcore.NewMapObjectEncoder()
		f.AddTo(encoded)
		for _, k := range slices.Sorted(maps.Keys(encoded.Fields)) { // an error or an inlined object has several keys
			out = append(out, slog.Any(k, encoded.Fields[k]))
		}
	}
	return out
}
