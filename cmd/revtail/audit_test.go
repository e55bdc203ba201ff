package main

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
)

// smallDisk takes so many bytes, and then none until there is room again.
type smallDisk struct {
	bytes.Buffer
	room int
}

func (d *smallDisk) Write(p []byte) (int, error) {
	taken := p[:min(len(p), d.room)]
	d.room -= len(taken)
	d.Buffer.Write(taken)
	if len(taken) < len(p) {
		return len(taken), errors.New("no space left on device")
	}
	return len(p), nil
}

func (*smallDisk) Close() error { return nil }

var _ io.WriteCloser = (*smallDisk)(nil)

// TestAuditOnAFullDisk: what is missing is told once and counted, and a record that was written in part spoils no other.
func TestAuditOnAFullDisk(t *testing.T) {
	var log bytes.Buffer
	disk := &smallDisk{room: 12}
	f := &auditFile{logger: slog.New(slog.NewTextHandler(&log, nil)), to: disk, backlog: newLogWriter(io.Discard, nil)}
	defer f.backlog.Close()
	write := func(line string) { _, _ = f.Write([]byte(line + "\n")) }
	write("first")
	for range 3 {
		write("missing")
	}
	disk.room = 100
	write("second")
	write("third")
	if want := "first\nmissin\nsecond\nthird\n"; disk.String() != want {
		t.Errorf("the file has %q, want %q", disk.String(), want)
	}
	if n := f.backlog.lost.Load(); n != 3 {
		t.Errorf("%d records are counted as missing, want 3", n)
	}
	if n := strings.Count(log.String(), "no space left on device"); n != 1 {
		t.Errorf("it was told %d times, want once:\n%s", n, &log)
	}
}
