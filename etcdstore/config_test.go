package etcdstore_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"revtail/etcdstore"
)

// TestClientLog checks that the client does not log compacted revisions, because they are answers and not failures, and
// nothing above debug level.
func TestClientLog(t *testing.T) {
	var log bytes.Buffer
	logger := etcdstore.ClientLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	logger.Warn("the first", zap.Error(status.Error(codes.OutOfRange, "compacted")))
	logger.With(zap.Int("attempt", 0)).Warn("the second", zap.Error(status.Error(codes.OutOfRange, "compacted")))
	logger.Warn("the third", zap.Error(status.Error(codes.Unavailable, "away")))
	logger.Warn("the fourth")
	for line, want := range map[string]bool{"first": false, "second": false, "third": true, "away": true, "fourth": true} {
		if strings.Contains(log.String(), line) != want {
			t.Errorf("%q in the log: %v, want %v:\n%s", line, !want, want, log.String())
		}
	}
	if strings.Contains(log.String(), "level=WARN") {
		t.Errorf("the log of the client has warnings, which package monitor reports:\n%s", log.String())
	}
}
