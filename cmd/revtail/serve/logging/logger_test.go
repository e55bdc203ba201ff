package logging

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
)

// stuckWriter signals that Write is entered, and blocks until goOn is closed. The buffer of entered holds the first signal.
type stuckWriter struct {
	entered, goOn chan struct{}
	written       bytes.Buffer
}

func (w *stuckWriter) Write(p []byte) (int, error) {
	select {
	case w.entered <- struct{}{}:
	default:
	}
	<-w.goOn
	return w.written.Write(p)
}

func TestAsyncWriterNeverBlocks(t *testing.T) {
	to := &stuckWriter{entered: make(chan struct{}, 1), goOn: make(chan struct{})}
	var dropped []uint64
	w := newAsyncWriter(to, func(n uint64) { dropped = append(dropped, n) })

	_, _ = fmt.Fprintln(w, "first")
	<-to.entered // the queue is empty again
	const tooMany = 10
	for range queueLength + tooMany {
		_, _ = fmt.Fprintln(w, "more")
	}
	close(to.goOn)
	w.Close()

	if len(dropped) != 1 || dropped[0] != tooMany {
		t.Errorf("dropped %v lines, want one report of %d", dropped, tooMany)
	}
	if lines := bytes.Count(to.written.Bytes(), []byte("\n")); lines != 1+queueLength {
		t.Errorf("%d lines written, want %d", lines, 1+queueLength)
	}
}

func TestAsyncWriterCloseHasATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		to := &stuckWriter{entered: make(chan struct{}, 1), goOn: make(chan struct{})}
		w := newAsyncWriter(to, func(uint64) {})
		_, _ = fmt.Fprintln(w, "first")
		w.Close()
		close(to.goOn)
		<-w.done
	})
}

func TestAsyncWriterCopiesLines(t *testing.T) {
	var to bytes.Buffer
	w := newAsyncWriter(&to, func(uint64) { t.Error("lines dropped") })
	line := []byte("a\n")
	_, _ = w.Write(line)
	copy(line, "b") // slog uses its buffer again
	_, _ = io.WriteString(w, "c\n")
	w.Close()
	if got := to.String(); got != "a\nc\n" {
		t.Errorf("written %q", got)
	}
}
