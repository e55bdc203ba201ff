package gateway

import (
	"bufio"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"testing"

	"revtail/etcdstore/memory"
	"revtail/gateway/gatewaytest/rawhttp"
	"revtail/gateway/http/request"
)

// figure is the value of a metric, as it stands on the page; -1: it is not there.
func (s *testServer) figure(metric string) float64 {
	s.t.Helper()
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(metric) + ` (\S+)$`).FindStringSubmatch(s.get("/metrics").body)
	if found == nil {
		return -1
	}
	value, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return value
}

const deliveries = "revtail_watch_delivery_duration_seconds_count"

// TestDeliveryOnAGoroutineIsTimed: compressed streams are no writer's. What a client comes back for is no delay of ours.
func TestDeliveryOnAGoroutineIsTimed(t *testing.T) {
	s := newTestServer(t)
	first := s.create("first")
	s.create("second")
	s.catchUp(configMaps)
	response := rawhttp.Get(t, &http.Client{}, s.url+configMaps+"?watch=1&resourceVersion="+first)
	read := bufio.NewReader(response.Body)
	if line, err := read.ReadString('\n'); !response.Uncompressed || err != nil {
		t.Fatalf("%v: %q, %v", response.Header, line, err)
	}
	if n := s.figure(deliveries); n != 0 {
		t.Errorf("%v deliveries after one from before the watch", n)
	}
	s.create("third")
	if _, err := read.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	await(t, "the delivery to be counted", func() bool { return s.figure(deliveries) == 1 })
}

// TestHistoryIsCounted: what was read from etcd's history, and what was not.
func TestHistoryIsCounted(t *testing.T) {
	store := memory.New()
	s := serveStore(t, store)
	first := s.create("first")
	for i := range 3 {
		s.create(fmt.Sprint("other-", i))
	}
	s.catchUp(configMaps) // memory is past the first one
	list := func() {
		t.Helper()
		if a := s.get(configMaps + "?resourceVersionMatch=Exact&resourceVersion=" + first); a.code != 200 {
			t.Fatal(a.code, a.body)
		}
	}
	const lists = `revtail_history_lists_total{resource="configmaps"}`
	list()
	list() // the state is kept for a while
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

// TestRefusalsAreCounted by reason.
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
