package logging

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
)

// smallDisk accepts as many bytes as are free and fails after that.
type smallDisk struct {
	bytes.Buffer
	free int
}

func (d *smallDisk) Write(p []byte) (int, error) {
	accepted := p[:min(len(p), d.free)]
	d.free -= len(accepted)
	d.Buffer.Write(accepted)
	if len(accepted) < len(p) {
		return len(accepted), errors.New("no space left on device")
	}
	return len(p), nil
}

func (*smallDisk) Close() error { return nil }

var _ io.WriteCloser = (*smallDisk)(nil)

// TestAppendFileOnFullDisk checks that failed records are counted and logged once, and that a partial record does not join the next.
func TestAppendFileOnFullDisk(t *testing.T) {
	var log bytes.Buffer
	disk := &smallDisk{free: 12}
	f := &appendFile{logger: slog.New(slog.NewTextHandler(&log, nil)), to: disk}
	write := func(line string) { _, _ = f.Write([]byte(line + "\n")) }
	write("first")
	for range 3 {
		write("missing")
	}
	disk.free = 100
	write("second")
	write("third")
	if want := "first\nmissin\nsecond\nthird\n"; disk.String() != want {
		t.Errorf("the file has %q, want %q", disk.String(), want)
	}
	if n := f.failed.Load(); n != 3 {
		t.Errorf("%d records are counted as missing, want 3", n)
	}
	if n := strings.Count(log.String(), "no space left on device"); n != 1 {
		t.Errorf("the failure is logged %d times, want once:\n%s", n, &log)
	}
}
