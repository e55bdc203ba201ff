package metrics

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

// Build describes the program.
type Build struct {
	Version  string // of the product; empty: unknown
	Revision string // of the sources; empty: unknown
}

// collector converts figures to metrics at each scrape.
type collector struct {
	build  Build
	source Source
}

var buildInfo = prometheus.NewDesc("revtail_build_info", "Constant 1; the labels say what runs.", []string{"version", "revision", "goversion"}, nil)

// Describe implements prometheus.Collector.
func (c *collector) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- buildInfo
	for _, m := range cacheMetrics {
		descriptions <- m.desc
	}
	describeWatches(descriptions)
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	metrics <- prometheus.MustNewConstMetric(buildInfo, prometheus.GaugeValue, 1, c.build.Version, c.build.Revision, runtime.Version())
	c.source.Watches().collect(metrics)
	for _, cache := range c.source.Caches() {
		for _, m := range cacheMetrics {
			metrics <- prometheus.MustNewConstMetric(m.desc, m.kind, float64(m.value(&cache)), cache.Resource)
		}
	}
}
