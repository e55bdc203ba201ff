package response

import (
	"log/slog"
	"runtime/debug"
)

// LogPanic logs the reason of a panic, with the stack.
func LogPanic(logger *slog.Logger, reason any, about ...any) {
	logger.Error("panic while answering a request", append(about, "panic", reason, "stack", string(debug.Stack()))...)
}
