package gateway

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"revtail/etcdstore/journal/recorder"
	"revtail/etcdstore/memory"
	"revtail/gateway/api/changes"
)

// TestHistoryExport checks that an export has all events, and its errors.
func TestHistoryExport(t *testing.T) {
	h := newHistoryServer(t)
	h.create("configmaps", "a")
	last := h.patch("bob", `{"data":{"k":"2"}}`)
	h.history("resource=configmaps") // waits for the journal
	d := describeKeys(t, h.testServer)
	a := h.get("/v1/history/export")
	lines := strings.Split(strings.TrimSpace(a.body), "\n")
	if a.code != http.StatusOK || a.header.Get("Content-Type") != "application/x-ndjson" || lines[0] != `{"format":"revtail.journal/v1"}` || !strings.HasPrefix(lines[len(lines)-1], `{"end":{"ranges":1,`) {
		t.Errorf("%d %s %s", a.code, a.header, a.body)
	}
	if !strings.Contains(a.body, fmt.Sprintf(`{"event":{"revision":%d,`, last)) {
		t.Errorf("revision %d is missing: %s", last, a.body)
	}
	if a := h.do(http.MethodHead, "/v1/history/export", ""); a.code != http.StatusOK || a.body != "" {
		t.Errorf("HEAD: %d %q", a.code, a.body)
	}
	for what, test := range map[string]struct {
		answer answer
		code   int
		says   string
	}{
		"a parameter":      {h.get("/v1/history/export?resource=configmaps"), http.StatusBadRequest, "has no parameters"},
		"another method":   {h.do(http.MethodPost, "/v1/history/export", ""), http.StatusMethodNotAllowed, ""},
		"no history":       {newTestServer(t).get("/v1/history/export"), http.StatusNotImplemented, "--history-dir"},
		"not open":         {exportOfNone(t), http.StatusServiceUnavailable, "no journal yet"},
		"an old directory": {h.get("/v1/history/exports"), http.StatusNotFound, ""},
	} {
		if test.answer.code != test.code || !strings.Contains(test.answer.body, test.says) {
			t.Errorf("%s: %d %s, want %d and %q", what, test.answer.code, test.answer.body, test.code, test.says)
		}
		if test.says != "" {
			d.checkAnswer("/v1/history/export", "get", test.answer)
		}
	}
}

// exportOfNone asks a gateway whose recorder waits for its journal, and is to record ConfigMaps alone.
func exportOfNone(t *testing.T) answer {
	t.Helper()
	store := memory.New()
	r := recorder.New(nil, recorder.Config{Store: store, Prefixes: []string{"/registry/configmaps/"}, Logger: slog.New(slog.DiscardHandler)})
	history := &changes.Source{Store: recorder.NewRecorded(store, r), Recorder: r}
	s := serveLogged(t, store, Options{Store: recorder.NewStore(store, r), History: history, Logger: slog.New(slog.DiscardHandler)})
	for query, code := range map[string]int{"resource=secrets": http.StatusNotFound, "resource=configmaps": http.StatusServiceUnavailable} {
		if a := s.get("/v1/history?" + query); a.code != code {
			t.Errorf("%s: %d %s, want %d", query, a.code, a.body, code)
		}
	}
	return s.get("/v1/history/export")
}
