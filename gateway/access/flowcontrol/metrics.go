package flowcontrol

import (
	"maps"

	"github.com/prometheus/client_golang/prometheus"
)

var byResource = []string{"resource"}

var (
	seats    = prometheus.NewDesc("revtail_flowcontrol_seats", "Seats that users share, by resource; 0: no limit.", byResource, nil)
	inUse    = prometheus.NewDesc("revtail_flowcontrol_seats_in_use", "Seats that requests hold.", byResource, nil)
	waiting  = prometheus.NewDesc("revtail_flowcontrol_requests_waiting", "Requests that wait for seats.", byResource, nil)
	waited   = prometheus.NewDesc("revtail_flowcontrol_wait_seconds_total", "Time that requests have waited for seats until they got them.", byResource, nil)
	queued   = prometheus.NewDesc("revtail_flowcontrol_requests_queued_total", "Requests that have got seats after they had waited.", byResource, nil)
	rejected = prometheus.NewDesc("revtail_flowcontrol_rejected_total", "Requests that got no seats, by the reason.", []string{"resource", "reason"}, nil)
)

// Describe implements prometheus.Collector.
func (p *Pools) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{seats, inUse, waiting, waited, queued, rejected} {
		out <- d
	}
}

// Collect implements prometheus.Collector. Users are no labels, because their number has no bound.
func (p *Pools) Collect(out chan<- prometheus.Metric) {
	for _, pool := range p.All() {
		pool.collect(out)
	}
}

func (p *Pool) collect(out chan<- prometheus.Metric) {
	p.mu.Lock()
	held, waits, waitedFor, dispatched, counts := p.used, p.waiting, p.waited, p.queued, maps.Clone(p.rejected)
	p.mu.Unlock()
	send := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, reason ...string) {
		out <- prometheus.MustNewConstMetric(d, kind, value, append([]string{p.config.Resource}, reason...)...)
	}
	send(seats, prometheus.GaugeValue, float64(p.config.Seats))
	send(inUse, prometheus.GaugeValue, float64(held))
	send(waiting, prometheus.GaugeValue, float64(waits))
	send(waited, prometheus.CounterValue, waitedFor.Seconds())
	send(queued, prometheus.CounterValue, float64(dispatched))
	for reason := range reasons { // also with zero, because a rate needs a value before the first rejection
		send(rejected, prometheus.CounterValue, float64(counts[reason]), reason)
	}
}
