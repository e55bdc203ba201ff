package top

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

const page = `# HELP revtail_watchers Open watches.
revtail_watchers{resource="pods"} 2
revtail_watchers{resource="keys"} 3
process_cpu_seconds_total 1.5e+01
revtail_etcd_member_up{endpoint="http://a:2379"} 1
revtail_etcd_member_leader{endpoint="http://a:2379"} 1
revtail_etcd_member_up{endpoint="http://b:2379"} 0
revtail_watch_events_total{resource="pods"} 100
revtail_etcd_revision 40
revtail_cache_ready{resource="pods"} 1
revtail_cache_revision{resource="pods"} 30
broken
`

func TestParseMetrics(t *testing.T) {
	m := parseMetrics(page)
	if got := m.sum("revtail_watchers"); got != 5 {
		t.Errorf("revtail_watchers is %v in all, want 5", got)
	}
	if got := m.sum("revtail_watchers", `resource="keys"`); got != 3 {
		t.Errorf("revtail_watchers of keys is %v, want 3", got)
	}
	if got := m.sum("process_cpu_seconds_total"); got != 15 {
		t.Errorf("process_cpu_seconds_total is %v, want 15", got)
	}
}

func FuzzParseMetrics(f *testing.F) {
	f.Add(page)
	f.Add("a{b=\"} 1\n{ 2\n} 3\n 4")
	f.Fuzz(func(t *testing.T, page string) {
		for name, values := range parseMetrics(page) {
			for labels := range values {
				_ = label(labels, name)
			}
		}
	})
}

// TestReport checks rates, sums over gateways, and what is said about a part that is missing.
func TestReport(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	watch := func(events uint64, lag float64) watcher {
		return watcher{Resource: "pods", User: "alice", Client: "10.0.0.1:5", Path: "/api/v1/pods", Since: start, Events: events, Bytes: 10 * events, LagSeconds: lag}
	}
	sources := []source{{name: "http://one"}, {name: "http://two"}}
	before := []*sample{
		{at: start, ready: true, metrics: parseMetrics(page), watchers: []watcher{watch(10, 0)}},
		{at: start, ready: true, watchers: []watcher{watch(5, 0)}},
	}
	now := []*sample{
		{at: start.Add(2 * time.Second), ready: true, metrics: parseMetrics(strings.Replace(page, " 100\n", " 300\n", 1)), watchers: []watcher{watch(30, 1.5)}},
		{at: start.Add(2 * time.Second), problems: []string{"caches failed: 1 of 2 are being filled"}, watchers: []watcher{watch(3, 0)}},
	}
	r := newReport(sources, before, now)
	if g := r.Gateways[0]; g.State != "ready" || g.Watches != 5 || g.Events != 100 || g.CachesLate != 10 {
		t.Errorf("the first gateway: %+v", g)
	}
	if g := r.Gateways[1]; g.State != "not ready" {
		t.Errorf("the second gateway: %+v", g)
	}
	if diff := cmp.Diff([]watches{{User: "alice", Resource: "pods", Watches: 2, Late: 1, Lag: 1.5, Events: 10, Bytes: 100}}, r.Watches); diff != "" {
		t.Errorf("watches, where the counter of the second gateway began anew (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]member{{Endpoint: "http://a:2379", State: "leader"}, {Endpoint: "http://b:2379", State: "down"}}, r.Etcd.Members); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if want := []string{"http://two: caches failed: 1 of 2 are being filled"}; !cmp.Equal(r.Notes, want) {
		t.Errorf("notes %q, want %q", r.Notes, want)
	}
}

// TestNarrow checks that the lines of every table fit into every width, and that the first column stays.
func TestNarrow(t *testing.T) {
	r := report{Watches: []watches{{User: strings.Repeat("u", 100), Resource: "customresourcedefinitions.apiextensions.k8s.io", Watches: 3}},
		Gateways: []gateway{{Server: "https://gateway.example.com:8443", State: "ready"}}, Notes: []string{strings.Repeat("note ", 50)}}
	for width := 1; width < 200; width++ {
		lines := append(r.head(width, false), r.watchTable().lines(width, 0, false)...)
		for _, line := range lines {
			if utf8.RuneCountInString(line) > width {
				t.Fatalf("a line for %d columns: %q", width, line)
			}
		}
	}
}
