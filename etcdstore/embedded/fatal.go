package embedded

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"go.uber.org/zap/zapcore"
)

// fatalHook is what etcd runs into instead of os.Exit when it logs at level fatal or panic: the message becomes a
// *FatalError and the goroutine ends, so that the process can say what to do and stop in order. A panic that etcd does
// not log first, in a goroutine of its own, still ends the process: Go has no way to catch it.
type fatalHook struct {
	once     sync.Once
	err      error         // the first; later ones follow from it. Valid once happened is closed
	happened chan struct{} // closed at the first
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

// withFields appends the fields of a log entry in the order of their names, stack traces aside.
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
