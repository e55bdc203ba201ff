// Package metrics has the Prometheus collectors of a gateway. They read values at a scrape from the packages that count them.
package metrics

import (
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Source returns the figures at each scrape.
type Source struct {
	Caches  func() []Cache
	Watches func() Watches
}

// Handler serves the metrics: those of source and of more, and those of the default registry, in which an embedded etcd registers its own.
func Handler(build Build, source Source, more ...prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(&collector{build, source})
	registry.MustRegister(more...)
	gatherers := prometheus.Gatherers{registry, defaultRegistry()}
	return promhttp.HandlerFor(gatherers, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// defaultRegistry returns the default registry with the collectors of Go and the process.
func defaultRegistry() prometheus.Gatherer {
	for _, c := range []prometheus.Collector{collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		_ = prometheus.Register(c) // the error is that it is registered already
	}
	return prometheus.DefaultGatherer
}

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
	for _, d := range []*prometheus.Desc{buildInfo, sentEvents, sentBytes, ended, late, slowest, delivery} {
		descriptions <- d
	}
	for _, m := range cacheMetrics {
		descriptions <- m.desc
	}
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
