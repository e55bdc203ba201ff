package gateway

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"revtail/etcdstore/memory"
	"revtail/gateway/http/request"
)

// figure returns the value of a metric on the page /metrics; -1: the page does not have the metric.
func (s *testServer) figure(metric string) float64 {
	s.t.Helper()
	return figureOf(s.t, s.get("/metrics").body, metric)
}

func figureOf(t *testing.T, page, metric string) float64 {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(metric) + ` (\S+)$`).FindStringSubmatch(page)
	if found == nil {
		return -1
	}
	value, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// deadlineRecorder is a recorder for a watch, which sets write deadlines.
type deadlineRecorder struct{ *httptest.ResponseRecorder }

func (deadlineRecorder) SetWriteDeadline(time.Time) error { return nil }

// TestDeliveryOnAGoroutineIsTimed checks that a watch without an event loop records the time of a delivery, and records none for a change
// that is older than the watch. The clock of a bubble replaces the real one, so that a loaded machine cannot change the result.
func TestDeliveryOnAGoroutineIsTimed(t *testing.T) {
	for _, coding := range []string{"identity", "gzip"} {
		t.Run(coding, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := newBubbleWith(t, Options{Store: memory.New()})
				b.configMap("default", "zero", "")
				b.configMap("default", "one", "")
				<-time.After(time.Second) // the change is older than the watch
				ctx, cancel := context.WithCancel(t.Context())
				r := httptest.NewRequestWithContext(ctx, http.MethodGet, configMaps+"?watch=1&resourceVersion=2", http.NoBody)
				r.Header.Set("Accept-Encoding", coding)
				w := deadlineRecorder{httptest.NewRecorder()}
				var serving sync.WaitGroup
				serving.Go(func() { b.server.ServeHTTP(w, r) })
				defer serving.Wait()
				defer cancel()

				expect := func(deliveries float64, events int) {
					t.Helper()
					<-time.After(time.Second)
					synctest.Wait()
					page := b.do(http.MethodGet, "/metrics", "").body
					if n := figureOf(t, page, `revtail_watch_events_total{resource="configmaps"}`); n != float64(events) {
						t.Errorf("%v events are sent, want %d", n, events)
					}
					if n := figureOf(t, page, "revtail_watch_delivery_duration_seconds_count"); n != deliveries {
						t.Errorf("%v deliveries are recorded, want %v", n, deliveries)
					}
				}
				expect(0, 1)
				b.configMap("default", "two", "")
				expect(1, 2)
			})
		})
	}
}

// TestHistoryIsCounted checks the metrics of lists and watches that are read from etcd's history.
func TestHistoryIsCounted(t *testing.T) {
	store := memory.New()
	s := serveStore(t, store)
	first := s.create("first")
	for i := range 3 {
		s.create(fmt.Sprint("other-", i))
	}
	s.catchUp(configMaps) // the cache is later than the first one
	list := func() {
		t.Helper()
		if a := s.get(configMaps + "?resourceVersionMatch=Exact&resourceVersion=" + first); a.code != 200 {
			t.Fatal(a.code, a.body)
		}
	}
	const lists = `revtail_history_lists_total{resource="configmaps"}`
	const kept = `revtail_cache_snapshots{resource="configmaps"}`
	if n := s.figure(kept); n != 0 {
		t.Errorf("%v past states before the first list, want none", n)
	}
	list()
	list() // the state is cached for a while
	if n := s.figure(kept); n != 1 {
		t.Errorf("%v past states, want 1", n)
	}
	if n := s.figure(lists); n != 1 {
		t.Errorf("%v lists from history, want 1", n)
	}
	if n := s.figure(`revtail_history_watches_total{resource="configmaps"}`); n != 0 {
		t.Errorf("%v watches from history", n)
	}
	if n := s.figure(`revtail_cache_resyncs_total{resource="configmaps"}`); n != 0 {
		t.Errorf("%v resyncs", n)
	}
}

// TestRefusalsAreCounted checks the metric of refused requests by reason.
func TestRefusalsAreCounted(t *testing.T) {
	s := newTestServer(t)
	for _, test := range []struct {
		reason  string
		refused func() int
	}{
		{"too_large", func() int { return s.do(http.MethodPost, configMaps, string(make([]byte, request.MaxBody+1))).code }},
		{"shutdown", func() int {
			s.server.StartDraining()
			if err := s.server.Drain(t.Context()); err != nil {
				t.Error(err)
			}
			return s.get(configMaps+"?watch=1", "Accept", "text/event-stream").code
		}},
	} {
		metric := `revtail_requests_refused_total{reason="` + test.reason + `"}`
		if n := s.figure(metric); n != 0 {
			t.Errorf("%s before: %v", metric, n)
		}
		code := test.refused()
		if n := s.figure(metric); n != 1 {
			t.Errorf("%s after an answer with %d: %v", metric, code, n)
		}
	}
}

// TestDurationsOfRequests checks that durations are observed of all requests but watches and long polls, however a URL spells them.
func TestDurationsOfRequests(t *testing.T) {
	for _, test := range []struct {
		method, path string
		long         bool
	}{
		{http.MethodGet, configMaps + "?watch=1&timeoutSeconds=9", true},
		{http.MethodGet, configMaps + "?watch&timeoutSeconds=9", true},
		{http.MethodGet, configMaps + "?w%61tch=yes&timeoutSeconds=9", true},
		{http.MethodGet, "/api/v1/watch/namespaces/default/configmaps?timeoutSeconds=9", true},
		{http.MethodHead, configMaps + "?watch=1&timeoutSeconds=9", true},
		{http.MethodGet, "/v1/keys/app/?wait=9s&since=1", true},
		{http.MethodGet, "/v1/keys/app/?w%61it=9s&since=1", true},
		{http.MethodGet, configMaps, false},
		{http.MethodGet, configMaps + "?watch=0&watch=1", false}, // the first value counts
		{http.MethodGet, configMaps + "?watch=f%61lse", false},
		{http.MethodGet, configMaps + "?wait=9s", false},
		{http.MethodGet, "/api/v1/namespaces/watch/configmaps", false},
		{http.MethodGet, "/v1/keys/app/watch/a", false},
		{http.MethodGet, configMaps + "?watch=1&resourceVersion=x", false}, // refused
		{http.MethodPost, configMaps + "?watch=1", false},
	} {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := newBubbleWith(t, Options{Store: memory.New(), Keys: []string{"/app/"}})
				b.configMap("default", "one", "")
				label := test.method
				if label == http.MethodHead {
					label = http.MethodGet // as handlers see it
				}
				page := func() string {
					w := httptest.NewRecorder() // requests of the operators' listener are not counted
					b.server.Admin().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
					return w.Body.String()
				}
				metric := `revtail_http_request_duration_seconds_count{method="` + label + `"}`
				before := max(figureOf(t, page(), metric), 0)
				r := httptest.NewRequestWithContext(t.Context(), test.method, test.path, http.NoBody)
				b.server.ServeHTTP(deadlineRecorder{httptest.NewRecorder()}, r)
				if observed := max(figureOf(t, page(), metric), 0) > before; observed == test.long {
					t.Errorf("the duration is observed: %v", observed)
				}
			})
		})
	}
}
