package doctor

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"revtail/cmd/revtail/client"
)

// metricsPage returns the metrics of a journal that has all events of two days, without those that changes replaces.
func metricsPage(changes map[string]float64) string {
	values := map[string]float64{
		"size_bytes": 3 << 30, "max_size_bytes": 8 << 30, "retention_seconds": 86400, "disk_free_bytes": 20 << 30,
		`oldest_revision{prefix="/registry/"}`: 5, `newest_revision{prefix="/registry/"}`: 9000, `oldest_timestamp_seconds{prefix="/registry/"}`: float64(time.Now().Add(-48 * time.Hour).Unix()),
		`gaps{prefix="/registry/"}`: 0, `lag_seconds{prefix="/registry/"}`: 0, `recording{prefix="/registry/"}`: 1,
	}
	for name, value := range changes {
		values[name] = value
	}
	var page strings.Builder
	page.WriteString("# HELP revtail_journal_size_bytes Bytes.\n# TYPE revtail_journal_size_bytes gauge\nrevtail_other 1\nrevtail_journal_odd\n")
	for name, value := range values {
		fmt.Fprintf(&page, "revtail_journal_%s %g\n", name, value)
	}
	return page.String()
}

// checkPage returns what the doctor reports of a gateway with a page of metrics.
func checkPage(t *testing.T, code int, page string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			t.Errorf("a request for %s", r.URL.Path)
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, page)
	}))
	defer server.Close()
	c, err := client.New(client.Config{Servers: []string{server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	d := &doctor{out: &out}
	d.checkJournal(t.Context(), c)
	if d.failures > 0 {
		t.Errorf("a warning is a failure:\n%s", out.String())
	}
	return out.String()
}

// TestJournal checks the lines and the warnings about a journal, each at its limit and beyond it.
func TestJournal(t *testing.T) {
	young := map[string]float64{`oldest_timestamp_seconds{prefix="/registry/"}`: float64(time.Now().Add(-time.Hour).Unix()), "size_bytes": 7.5 * (1 << 30)}
	unbounded := map[string]float64{"max_size_bytes": 0, "size_bytes": 7.5 * (1 << 30), "retention_seconds": 0}
	for name, c := range map[string]struct {
		changes map[string]float64
		warns   int
		says    []string
	}{
		"all is well":         {nil, 0, []string{"3.0 GiB on the disk of at most 8.0 GiB, 20.0 GiB free", "/registry/: revisions 5 to 9000, since ", ", without gaps"}},
		"1 GiB free":          {map[string]float64{"disk_free_bytes": 1 << 30}, 0, nil},
		"less free":           {map[string]float64{"disk_free_bytes": 1<<30 - 1<<20}, 1, []string{"free space on the disk of --history-dir, or lower --history-max-size"}},
		"full of young ones":  {young, 1, []string{"events are dropped before their age", "raise --history-max-size, or lower --history-retention"}},
		"full of old ones":    {map[string]float64{"size_bytes": 7.5 * (1 << 30)}, 0, nil},
		"without bounds":      {unbounded, 0, []string{"7.5 GiB on the disk, 20.0 GiB free"}},
		"events waited":       {map[string]float64{`lag_seconds{prefix="/registry/"}`: 30}, 0, nil},
		"events wait":         {map[string]float64{`lag_seconds{prefix="/registry/"}`: 31}, 1, []string{"events have waited for 31s to be written", "neither full nor slow"}},
		"a gap":               {map[string]float64{`gaps{prefix="/registry/"}`: 2}, 1, []string{"with 2 gaps", "keep more history in etcd (--history)", "revtail history prune"}},
		"nothing recorded":    {map[string]float64{`recording{prefix="/registry/"}`: 0, `gaps{prefix="/registry/"}`: 2}, 1, []string{"nothing is recorded now", "its log has the reason"}},
		"another one has not": {map[string]float64{`recording{prefix="/a\"b/"}`: 0}, 1, []string{`/a"b/: revisions 0 to 0: nothing is recorded now`, "9000", "without gaps"}},
		"two warnings":        {map[string]float64{"disk_free_bytes": 1 << 20, `recording{prefix="/registry/"}`: 0}, 2, nil},
	} {
		out := checkPage(t, http.StatusOK, metricsPage(c.changes))
		if got := strings.Count(out, string(warning)+"  "); got != c.warns || strings.Count(out, "→") != c.warns {
			t.Errorf("%s: %d warnings, want %d, each with a hint:\n%s", name, got, c.warns, out)
		}
		for _, text := range c.says {
			if !strings.Contains(out, text) {
				t.Errorf("%s: want %q:\n%s", name, text, out)
			}
		}
	}
}

// TestNoJournal checks what is said of a gateway without a journal, or without metrics.
func TestNoJournal(t *testing.T) {
	if out := checkPage(t, http.StatusOK, "revtail_requests 1\n"); !strings.HasPrefix(out, string(ok)) || !strings.Contains(out, "records no history (--history-dir)") {
		t.Errorf("without a journal: %s", out)
	}
	if out := checkPage(t, http.StatusForbidden, "forbidden"); !strings.HasPrefix(out, string(skipped)) || !strings.Contains(out, "the metrics cannot be read") {
		t.Errorf("without metrics: %s", out)
	}
}
