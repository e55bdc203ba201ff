package reload_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"revtail/gateway/config/reload"
)

func upper(content []byte) (string, error) {
	if strings.Contains(string(content), "bad") {
		return "", errors.New("this is bad")
	}
	return strings.ToUpper(string(content)), nil
}

// safeBuffer is a buffer for a log that is written and read concurrently.
type safeBuffer struct {
	mu   sync.Mutex // guards the field below
	text bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// pass lets time pass, and waits until all goroutines wait again.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		name := filepath.Join(t.TempDir(), "file")
		write := func(content string) {
			if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		log := new(safeBuffer)
		logger := slog.New(slog.NewTextHandler(log, nil))
		if _, err := reload.Open("--a-file", name, upper, logger); err == nil || !strings.Contains(err.Error(), "--a-file: open ") {
			t.Errorf("no file: %v", err)
		}
		write("bad")
		if _, err := reload.Open("--a-file", name, upper, logger); err == nil || err.Error() != "--a-file "+name+": this is bad" {
			t.Errorf("a bad file: %v", err)
		}
		write("one")
		f, err := reload.Open("--a-file", name, upper, logger)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = f.Run(ctx) })
		defer running.Wait()
		defer cancel()
		want := func(what, content string, generation uint64, warnings int) {
			t.Helper()
			if f.Get() != content || f.Generation() != generation || strings.Count(log.String(), "cannot be used") != warnings {
				t.Errorf("%s: %s of generation %d; want %s of %d, and %d warnings in\n%s", what, f.Get(), f.Generation(), content, generation, warnings, log)
			}
		}
		want("at the start", "ONE", 0, 0)
		write("two")
		pass(5 * time.Second)
		want("after a change", "TWO", 1, 0)

		write("bad")
		pass(2500 * time.Millisecond)
		want("seen once", "TWO", 1, 0)
		pass(time.Minute)
		want("seen often", "TWO", 1, 1)
		f.Reload()
		want("asked for", "TWO", 1, 2)
		if ok, failures := metrics(t, f); ok != 0 || failures != 2 {
			t.Errorf("metrics: %v, %v failures; want 0 and 2", ok, failures)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		want("without the file", "TWO", 1, 3)
		write("two")
		pass(time.Minute)
		want("as before", "TWO", 1, 3)
		if ok, _ := metrics(t, f); ok != 1 {
			t.Errorf("metrics: %v, want 1", ok)
		}
		write("three")
		f.Reload()
		want("at once", "THREE", 2, 3)
	})
}

func metrics(t *testing.T, c prometheus.Collector) (ok, failures float64) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		m := family.GetMetric()[0]
		if family.GetName() == "revtail_file_last_reload_successful" {
			ok = m.GetGauge().GetValue()
		} else {
			failures = m.GetCounter().GetValue()
		}
	}
	return ok, failures
}
