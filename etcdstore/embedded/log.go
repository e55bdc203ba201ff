//go:build !noembedded

package embedded

import (
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
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

// fatalHook replaces os.Exit when etcd logs at level fatal or panic: it turns the message into a *FatalError and ends the goroutine, so
// that the process can report the error and shut down. A panic of etcd without a log entry still ends the process.
type fatalHook struct {
	once     sync.Once
	err      error         // the first error, which causes the later ones; valid after happened is closed
	happened chan struct{} // closed after the first error
}

var _ zapcore.CheckWriteHook = (*fatalHook)(nil)

func newFatalHook() *fatalHook { return &fatalHook{happened: make(chan struct{})} }

// OnWrite implements zapcore.CheckWriteHook.
func (h *fatalHook) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	h.once.Do(func() {
		h.err = &FatalError{Message: withFields(entry.Message, fields)}
		close(h.happened)
	})
	runtime.Goexit()
}

// withFields appends the fields of a log entry, sorted by name, without stack traces.
func withFields(message string, fields []zapcore.Field) string {
	enc := zapcore.NewMapObjectEncoder()
	for _, f := range fields {
		f.AddTo(enc)
	}
	var parts []string
	for key, value := range enc.Fields {
		if !strings.Contains(strings.ToLower(key), "stack") && key != "errorVerbose" {
			parts = append(parts, fmt.Sprintf("%s: %v", key, value))
		}
	}
	if len(parts) == 0 {
		return message
	}
	slices.Sort(parts)
	return message + " (" + strings.Join(parts, ", ") + ")"
}
