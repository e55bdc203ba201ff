package embedded

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"go.uber.org/zap/zapcore"
)

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
