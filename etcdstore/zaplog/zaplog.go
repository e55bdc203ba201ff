// Package zaplog lets what logs to zap, as etcd does, log to log/slog.
package zaplog

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// New returns a logger whose entries go to l, with their fields, one level lower where they are talk: see levelOf.
// Entries of a named logger have the attribute "logger". It never ends the process by itself; zap's Fatal and Panic still do.
func New(l *slog.Logger) *zap.Logger { return zap.New(&core{handler: l.Handler()}) }

// core is a zapcore.Core on a slog.Handler.
type core struct {
	handler slog.Handler
}

// levelOf is what a level of etcd means to its operator. etcd tells at Info each step of its life, dozens of lines for a
// start, none of which asks for anything: that is what Debug is for here. Its Debug is every request.
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

// Enabled implements zapcore.LevelEnabler.
func (c *core) Enabled(l zapcore.Level) bool {
	return c.handler.Enabled(context.Background(), levelOf(l)) //nolint:forbidigo // zap hands on no context
}

// With implements zapcore.Core.
func (c *core) With(fields []zapcore.Field) zapcore.Core {
	return &core{handler: withFields(c.handler, fields)}
}

// Check implements zapcore.Core.
func (c *core) Check(ent zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if !c.Enabled(ent.Level) {
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
	record := slog.NewRecord(ent.Time, levelOf(ent.Level), ent.Message, pc)
	if ent.LoggerName != "" {
		record.AddAttrs(slog.String("logger", ent.LoggerName))
	}
	record.AddAttrs(attrs(fields)...)
	if ent.Stack != "" {
		record.AddAttrs(slog.String("stack", ent.Stack))
	}
	return c.handler.Handle(context.Background(), record) //nolint:forbidigo // zap hands on no context
}

// Sync implements zapcore.Core. Handlers have nothing to flush.
func (c *core) Sync() error { return nil }

// withFields is the handler with fields for all later records. A zap.Namespace opens a group that stays open.
func withFields(h slog.Handler, fields []zapcore.Field) slog.Handler {
	if i := slices.IndexFunc(fields, isNamespace); i >= 0 {
		return withFields(withFields(h, fields[:i]).WithGroup(fields[i].Key), fields[i+1:])
	}
	if len(fields) == 0 {
		return h
	}
	return h.WithAttrs(attrs(fields))
}

// attrs are fields in their order. What follows a zap.Namespace is a group.
func attrs(fields []zapcore.Field) []slog.Attr {
	out := make([]slog.Attr, 0, len(fields))
	for i, f := range fields {
		if isNamespace(f) {
			return append(out, slog.Attr{Key: f.Key, Value: slog.GroupValue(attrs(fields[i+1:])...)})
		}
		encoded := zapcore.NewMapObjectEncoder()
		f.AddTo(encoded)
		// One field may give several keys: an error its verbose form, an inlined object all of its own.
		for _, k := range slices.Sorted(maps.Keys(encoded.Fields)) {
			out = append(out, slog.Any(k, encoded.Fields[k]))
		}
	}
	return out
}

func isNamespace(f zapcore.Field) bool { return f.Type == zapcore.NamespaceType }
