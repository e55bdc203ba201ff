package metrics_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"revtail/gateway/metrics"
)

// page is what a gateway shows that has done a bit of everything.
func page(t *testing.T) []byte {
	t.Helper()
	requests := metrics.NewRequests()
	requests.Done("GET", 200, 3*time.Millisecond, false)
	requests.Done("GET", 200, time.Hour, true)
	requests.Done("BREW", 405, time.Millisecond, false)
	store := metrics.NewStoreRequests()
	store.Done("Range", "OK", 2*time.Millisecond)
	handler := metrics.Handler("v1", metrics.Source{
		Caches: func() []metrics.Cache {
			return []metrics.Cache{{Resource: "pods", Ready: true, Revision: 9, Objects: 2, Bytes: 700, Fills: 1}}
		},
		Watches: func() metrics.Watches {
			sent := metrics.Sent{Events: 1, Bytes: 10}.Plus(metrics.Sent{Events: 2, Bytes: 20})
			return metrics.Watches{Sent: map[string]metrics.Sent{"pods": sent}, Ended: map[string]uint64{"timeout": 4}, Late: 1, Slowest: 1500 * time.Millisecond}
		},
	}, requests, store)
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if recorder.Code != http.StatusOK {
		t.Fatalf("%d %s", recorder.Code, recorder.Body)
	}
	return recorder.Body.Bytes()
}

func TestFigures(t *testing.T) {
	got := "\n" + string(page(t))
	for _, want := range []string{
		`revtail_build_info{version="v1"} 1`,
		`revtail_cache_ready{resource="pods"} 1`,
		`revtail_cache_bytes{resource="pods"} 700`,
		`revtail_watch_events_total{resource="pods"} 3`,
		`revtail_watch_sent_bytes_total{resource="pods"} 30`,
		`revtail_watches_ended_total{reason="timeout"} 4`,
		`revtail_watchers_late 1`,
		`revtail_watcher_lag_seconds 1.5`,
		`revtail_http_requests_total{code="200",method="GET"} 2`,
		`revtail_http_requests_total{code="405",method="other"} 1`,
		`revtail_http_request_duration_seconds_count{method="GET"} 1`,
		`revtail_etcd_requests_total{code="OK",operation="Range"} 1`,
		`revtail_etcd_request_duration_seconds_count{operation="Range"} 1`,
		`go_goroutines `,
	} {
		if !strings.Contains(got, "\n"+want) {
			t.Errorf("the page has no line %s", want)
		}
	}
}

// TestNames holds our names to Prometheus' guide; those of etcd and Go are theirs.
func TestNames(t *testing.T) {
	problems, err := promlint.New(bytes.NewReader(page(t))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		if strings.HasPrefix(problem.Metric, "revtail_") {
			t.Errorf("%s: %s", problem.Metric, problem.Text)
		}
	}
}
