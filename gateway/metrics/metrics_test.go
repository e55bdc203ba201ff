package metrics_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"revtail/etcdstore"
	"revtail/etcdstore/monitor"
	"revtail/gateway/config/buildinfo"
	"revtail/gateway/metrics"
)

// page returns the metrics of a gateway that has done a bit of everything.
func page(t *testing.T) []byte {
	t.Helper()
	requests := metrics.NewRequests()
	requests.Done("GET", 200, 3*time.Millisecond, false)
	requests.Done("GET", 200, time.Hour, true)
	requests.Done("BREW", 405, time.Millisecond, false)
	store := metrics.NewStoreRequests()
	store.Done("Range", "OK", 2*time.Millisecond)
	handler := metrics.Handler(buildinfo.Info{Version: "v1", Commit: "abc", Date: "2026-11-21T00:00:00Z", Go: "go1.26.8", Platform: "linux/amd64"}, metrics.Source{
		Caches: func() []metrics.Cache {
			return []metrics.Cache{{Resource: "pods", Ready: true, Revision: 9, Objects: 2, Bytes: 700, Counts: metrics.Counts{Resyncs: 1}.Plus(metrics.Counts{Resyncs: 1, HistoryReads: 3})}}
		},
		Watches: func() metrics.Watches {
			sent := metrics.Sent{Events: 1, Bytes: 10}.Plus(metrics.Sent{Events: 2, Bytes: 20})
			return metrics.Watches{Sent: map[string]metrics.Sent{"pods": sent}, Ended: map[string]uint64{"timeout": 4}, Late: 1, Slowest: 1500 * time.Millisecond, Delays: delays()}
		},
	}, requests, store, metrics.NewEtcd(health, func() (done, failed uint64) { return 2, 1 }, time.Hour))
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if recorder.Code != http.StatusOK {
		t.Fatalf("%d %s", recorder.Code, recorder.Body)
	}
	return recorder.Body.Bytes()
}

// delays returns the delays of two goroutines.
func delays() []*metrics.Delays {
	both := []*metrics.Delays{new(metrics.Delays), new(metrics.Delays)}
	both[0].Observe(100 * time.Microsecond)
	both[0].Observe(2 * time.Millisecond)
	both[1].Observe(2 * time.Millisecond)
	both[1].Observe(time.Minute)
	return both
}

func health() monitor.Health {
	return monitor.Health{
		Members: []etcdstore.MemberStatus{{Endpoint: "http://one", Leader: true, Size: 10, InUse: 5, Quota: 100}, {Endpoint: "http://two", Err: etcdstore.ErrUnavailable}},
		Alarms:  []etcdstore.Alarm{{Type: "NOSPACE"}}, Newest: 9, Oldest: 4, Grown: time.UnixMilli(1500),
	}
}

func TestFigures(t *testing.T) {
	got := "\n" + string(page(t))
	for _, want := range []string{
		`revtail_build_info{date="2026-11-21T00:00:00Z",goversion="go1.26.8",platform="linux/amd64",revision="abc",version="v1"} 1`,
		`revtail_cache_resyncs_total{resource="pods"} 2`,
		`revtail_history_watches_total{resource="pods"} 3`,
		`revtail_watch_delivery_duration_seconds_bucket{le="0.0001"} 1`,
		`revtail_watch_delivery_duration_seconds_bucket{le="0.0025"} 3`,
		`revtail_watch_delivery_duration_seconds_bucket{le="30"} 3`,
		`revtail_watch_delivery_duration_seconds_bucket{le="+Inf"} 4`,
		`revtail_watch_delivery_duration_seconds_sum 60.0041`,
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
		`revtail_etcd_member_up{endpoint="http://one"} 1`,
		`revtail_etcd_member_up{endpoint="http://two"} 0`,
		`revtail_etcd_member_leader{endpoint="http://one"} 1`,
		`revtail_etcd_member_database_bytes{endpoint="http://one"} 10`,
		`revtail_etcd_member_quota_bytes{endpoint="http://one"} 100`,
		`revtail_etcd_alarms{type="CORRUPT"} 0`,
		`revtail_etcd_alarms{type="NOSPACE"} 1`,
		`revtail_etcd_revision 9`,
		`revtail_etcd_compacted_revision 4`,
		`revtail_etcd_compaction_timestamp_seconds 1.5`,
		`revtail_compactor_history_seconds 3600`,
		`revtail_compactions_total 2`,
		`revtail_compaction_failures_total 1`,
		`go_goroutines `,
	} {
		if !strings.Contains(got, "\n"+want) {
			t.Errorf("the page has no line %s", want)
		}
	}
}

// TestNames checks the gateway's own metric names against Prometheus' guide, without those of etcd and Go.
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
