package webserver

import (
	"github.com/prometheus/client_golang/prometheus"

	"revtail/gateway/netio/stranger"
)

var (
	strangers = prometheus.NewDesc("revtail_unauthenticated_connections",
		"Open connections on which no request has been authenticated yet.", nil, nil)
	strangerBytes = prometheus.NewDesc("revtail_unauthenticated_memory_bytes",
		"Memory that connections without an authenticated request are charged for; the oldest idle ones are cut above 64 MiB.", nil, nil)
	strangersCut = prometheus.NewDesc("revtail_unauthenticated_connections_cut_total",
		"Connections without an authenticated request that were cut, because they or all of them together filled too much memory.", nil, nil)
)

// strangerMetrics are the metrics of a registry.
type strangerMetrics struct{ registry *stranger.Registry }

// NewStrangerMetrics returns the metrics of the connections on which no request has been authenticated yet.
func NewStrangerMetrics(r *stranger.Registry) prometheus.Collector { return strangerMetrics{r} }

// Describe implements prometheus.Collector.
func (strangerMetrics) Describe(to chan<- *prometheus.Desc) {
	to <- strangers
	to <- strangerBytes
	to <- strangersCut
}

// Collect implements prometheus.Collector.
func (m strangerMetrics) Collect(to chan<- prometheus.Metric) {
	figures := m.registry.Figures()
	to <- prometheus.MustNewConstMetric(strangers, prometheus.GaugeValue, float64(figures.Strangers))
	to <- prometheus.MustNewConstMetric(strangerBytes, prometheus.GaugeValue, float64(figures.Bytes))
	to <- prometheus.MustNewConstMetric(strangersCut, prometheus.CounterValue, float64(figures.Cut))
}
