package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Watches are the totals of all watches, open and ended.
type Watches struct {
	Sent    map[string]Sent   // by resource
	Ended   map[string]uint64 // by reason
	Late    int               // open watches whose clients have not read all that was written
	Slowest time.Duration     // the longest time for which one has not
	Delays  []*Delays         // of deliveries
}

// Sent counts sent data.
type Sent struct{ Events, Bytes uint64 }

// Plus returns the sum of both.
func (s Sent) Plus(t Sent) Sent { return Sent{s.Events + t.Events, s.Bytes + t.Bytes} }

var (
	sentEvents = prometheus.NewDesc("revtail_watch_events_total", "Events that were sent to watches.", byResource, nil)
	sentBytes  = prometheus.NewDesc("revtail_watch_sent_bytes_total", "Bytes of frames that were sent to watches, before compression and TLS.", byResource, nil)
	ended      = prometheus.NewDesc("revtail_watches_ended_total", "Watches that have ended, by the reason.", []string{"reason"}, nil)
	late       = prometheus.NewDesc("revtail_watchers_late", "Open watches whose clients have not taken all that was written to them.", nil, nil)
	slowest    = prometheus.NewDesc("revtail_watcher_lag_seconds", "For how long the slowest client has not taken what was written to it.", nil, nil)
)

func (w Watches) collect(metrics chan<- prometheus.Metric) {
	for resource, sent := range w.Sent {
		metrics <- prometheus.MustNewConstMetric(sentEvents, prometheus.CounterValue, float64(sent.Events), resource)
		metrics <- prometheus.MustNewConstMetric(sentBytes, prometheus.CounterValue, float64(sent.Bytes), resource)
	}
	for reason, n := range w.Ended {
		metrics <- prometheus.MustNewConstMetric(ended, prometheus.CounterValue, float64(n), reason)
	}
	metrics <- prometheus.MustNewConstMetric(late, prometheus.GaugeValue, float64(w.Late))
	metrics <- prometheus.MustNewConstMetric(slowest, prometheus.GaugeValue, w.Slowest.Seconds())
	collectDelays(w.Delays, metrics)
}
