package metrics

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// delayBounds are the upper bounds of the buckets for the time of a delivery: half of the bounds are in the range of most deliveries.
var delayBounds = [...]time.Duration{
	100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond,
	10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second, 30 * time.Second,
}

// Delays is a histogram of the durations of deliveries. Observe takes no lock and allocates nothing. Each delivering goroutine has its own
// Delays, because shared counters would be slower; a scrape adds them up.
type Delays struct {
	counts [len(delayBounds) + 1]atomic.Uint64
	sum    atomic.Int64 // in ns
}

// Observe counts a delivery.
func (d *Delays) Observe(took time.Duration) {
	i := 0
	for i < len(delayBounds) && took > delayBounds[i] {
		i++
	}
	d.sum.Add(int64(took)) // before the count: the mean is never too small
	d.counts[i].Add(1)
}

var delivery = prometheus.NewDesc("revtail_watch_delivery_duration_seconds",
	"From an event's arrival from etcd until the system has taken it for the socket of a watch. What is sent in one write counts once, by its first event.", nil, nil)

// collectDelays collects the sum of all histograms.
func collectDelays(all []*Delays, metrics chan<- prometheus.Metric) {
	var (
		sum     time.Duration
		total   uint64
		buckets = make(map[float64]uint64, len(delayBounds))
	)
	for i := range len(delayBounds) + 1 {
		for _, d := range all {
			total += d.counts[i].Load()
		}
		if i < len(delayBounds) {
			buckets[delayBounds[i].Seconds()] = total
		}
	}
	for _, d := range all {
		sum += time.Duration(d.sum.Load())
	}
	metrics <- prometheus.MustNewConstHistogram(delivery, total, sum.Seconds(), buckets)
}
