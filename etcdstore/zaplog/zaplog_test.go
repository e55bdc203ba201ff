package zaplog_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"revtail/etcdstore/zaplog"
)

// record runs log with a zap logger on a text handler of the given level and returns the lines without their time.
func record(level slog.Level, log func(*zap.Logger)) []string {
	var buf bytes.Buffer
	h := slog.NewTextHandler(&buf, &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	log(zaplog.New(slog.New(h)))
	return strings.Split(strings.TrimSuffix(buf.String(), "\n"), "\n")
}

func TestLevels(t *testing.T) {
	all := func(l *zap.Logger) {
		l.Debug("each request")
		l.Info("each step")
		l.Warn("slow disk")
		l.Error("failed to update storage version") // it tries again
		l.Error("broken")
	}
	for _, tc := range []struct {
		name  string
		level slog.Level
		want  []string
	}{
		{"at info only what asks for something", slog.LevelInfo, []string{`level=WARN msg="slow disk"`, `level=WARN msg="failed to update storage version"`, `level=ERROR msg=broken`}},
		{"at debug the steps too", slog.LevelDebug,
			[]string{`level=DEBUG msg="each step"`, `level=WARN msg="slow disk"`, `level=WARN msg="failed to update storage version"`, `level=ERROR msg=broken`}},
		{"below debug everything", slog.LevelDebug - 4,
			[]string{`level=DEBUG-4 msg="each request"`, `level=DEBUG msg="each step"`, `level=WARN msg="slow disk"`, `level=WARN msg="failed to update storage version"`, `level=ERROR msg=broken`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, record(tc.level, all)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFields(t *testing.T) {
	for _, tc := range []struct {
		name string
		log  func(*zap.Logger)
		want string
	}{
		{"in their order", func(l *zap.Logger) {
			l.Warn("m", zap.String("b", "x y"), zap.Int("a", 1), zap.Duration("took", time.Second), zap.Strings("s", []string{"p", "q"}))
		}, `level=WARN msg=m b="x y" a=1 took=1s s="[p q]"`},
		{"error", func(l *zap.Logger) { l.Error("m", zap.Error(errors.New("why"))) }, `level=ERROR msg=m error=why`},
		{"none", func(l *zap.Logger) { l.Error("m", zap.Skip(), zap.Error(nil)) }, `level=ERROR msg=m`},
		{"with", func(l *zap.Logger) { l.With(zap.Int("member", 1)).Warn("m", zap.Int("a", 2)) }, `level=WARN msg=m member=1 a=2`},
		{"name", func(l *zap.Logger) { l.Named("etcd").Named("raft").Warn("m") }, `level=WARN msg=m logger=etcd.raft`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff([]string{tc.want}, record(slog.LevelInfo, tc.log)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWithDoesNotChangeItsParent(t *testing.T) {
	got := record(slog.LevelInfo, func(l *zap.Logger) {
		l.With(zap.Int("a", 1)).Warn("child")
		l.Warn("parent")
	})
	if diff := cmp.Diff([]string{"level=WARN msg=child a=1", "level=WARN msg=parent"}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}
