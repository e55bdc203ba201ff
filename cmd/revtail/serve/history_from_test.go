package serve

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"revtail/etcdstore"
	"revtail/etcdstore/journal"
	"revtail/etcdstore/journal/recorder"
	"revtail/etcdstore/memory"
	"revtail/gateway/config"
)

// exported returns the export of a journal with some events.
func exported(t *testing.T) []byte {
	t.Helper()
	store := memory.New()
	j, err := journal.Open(t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	r := recorder.New(j, recorder.Config{Store: store, Prefixes: []string{"/registry/"}, Logger: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = r.Run(ctx) })
	last := etcdstore.Revision(0)
	for i := range 50 {
		last = store.Txn(map[string][]byte{fmt.Sprint("/registry/configmaps/default/", i%5): fmt.Appendf(nil, "value %d", i)}, nil)
	}
	for known := (journal.Range{}); known.Through < last; known, _ = r.RangeOf("/registry/") {
		if err = r.Await(t.Context(), "/registry/", last); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if _, err = r.Export(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	cancel()
	running.Wait()
	if err = j.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// copyOf returns a copy from a server into a new directory.
func copyOf(t *testing.T, handler http.HandlerFunc) *historyCopy {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return &historyCopy{logger: slog.New(slog.DiscardHandler), cfg: config.Config{
		HistoryDir: filepath.Join(t.TempDir(), "history"), HistoryFrom: server.URL + "/", HistoryFromTokenFile: token,
	}}
}

// TestHistoryCopy checks that a copy is tried again until it is whole, and that a part of it is no journal.
func TestHistoryCopy(t *testing.T) {
	text := exported(t)
	var requests atomic.Int64
	var c *historyCopy
	c = copyOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/history/export" || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("the request is %s with %q", r.URL, r.Header.Get("Authorization"))
		}
		if exists, err := journal.Exists(c.cfg.HistoryDir); exists || err != nil {
			t.Errorf("there is a journal already (%v)", err)
		}
		part := text
		if requests.Add(1) == 1 {
			part = text[:len(text)/2]
		}
		if _, err := w.Write(part); err != nil {
			t.Error(err)
		}
	})
	if err := c.run(t.Context()); err != nil || requests.Load() != 2 {
		t.Fatalf("%d requests: %v", requests.Load(), err)
	}
	j, err := journal.OpenExisting(c.cfg.HistoryDir, c.logger, journal.ReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if _, err = j.Export(t.Context(), &again, nil); err != nil || !bytes.Equal(again.Bytes(), text) {
		t.Errorf("the copy differs (%v)", err)
	}
	if err = j.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestHistoryCopyRefused checks that errors say what to do, and leave nothing.
func TestHistoryCopyRefused(t *testing.T) {
	text := exported(t)
	for says, handler := range map[string]http.HandlerFunc{
		"--history-from-token-file":             answer(http.StatusUnauthorized, ""),
		"the nonResourceURL /v1/history/export": answer(http.StatusForbidden, ""),
		"the URL of a revtail of this version":  answer(http.StatusNotFound, ""),
		"this is why: it has no journal":        answer(http.StatusNotImplemented, `{"message":"this is why"}`),
		"it is asked again":                     answer(http.StatusTooManyRequests, ""),
		"302 Found": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://elsewhere.invalid/", http.StatusFound)
		},
		"line 1: ":   answer(http.StatusOK, "<html>"),
		"is cut off": answer(http.StatusOK, string(text[:bytes.LastIndexByte(text[:len(text)-1], '\n')+1])),
		"unexpected EOF": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write(text[:100])
		},
		"start the other gateway, or correct --histo": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		c := copyOf(t, handler)
		if _, err := c.copy(t.Context()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
		if left, err := os.ReadDir(filepath.Dir(c.cfg.HistoryDir)); err != nil || len(left) > 0 {
			t.Errorf("%s: it leaves %v (%v)", says, left, err)
		}
	}
	c := copyOf(t, answer(http.StatusOK, string(text)))
	if err := os.WriteFile(filepath.Join(filepath.Dir(c.cfg.HistoryDir), "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.cfg.HistoryDir = filepath.Join(filepath.Dir(c.cfg.HistoryDir), "file", "history")
	if _, err := c.copy(t.Context()); err == nil || !strings.Contains(err.Error(), "a directory below it") {
		t.Errorf("%v", err)
	}
}

func answer(code int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text)
	}
}

// TestHistoryCopyEnds checks that a copy ends with the process, while the other gateway sends nothing.
func TestHistoryCopyEnds(t *testing.T) {
	asked := make(chan struct{})
	c := copyOf(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		close(asked)
		select {
		case <-r.Context().Done():
		case <-time.After(time.Minute):
			t.Error("the request goes on")
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if err := c.run(ctx); err == nil {
		t.Error("it has a journal")
	}
}
