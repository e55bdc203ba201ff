// Package metrics has the Prometheus collectors of a gateway. They read values at a scrape from the packages that count them.
package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"revtail/gateway/config/buildinfo"
)

// Source returns the figures at each scrape.
type Source struct {
	Caches  func() []Cache
	Watches func() Watches
}

// Handler serves the metrics: those of source and of more, and those of the default registry, in which an embedded etcd registers its own.
func Handler(build buildinfo.Info, source Source, more ...prometheus.Collector) http.Handler {
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

// collector converts figures to metrics at each scrape.
type collector struct {
	build  buildinfo.Info
	source Source
}

var build = prometheus.NewDesc("revtail_build_info", "Constant 1; the labels say what runs.", []string{"version", "revision", "date", "goversion", "platform"}, nil)

// Describe implements prometheus.Collector.
func (c *collector) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{build, sentEvents, sentBytes, ended, late, slowest, delivery} {
		descriptions <- d
	}
	for _, m := range cacheMetrics {
		descriptions <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	b := c.build
	metrics <- prometheus.MustNewConstMetric(build, prometheus.GaugeValue, 1, b.Version, b.Commit, b.Date, b.Go, b.Platform)
	c.source.Watches().collect(metrics)
	for _, cache := range c.source.Caches() {
		for _, m := range cacheMetrics {
			metrics <- prometheus.MustNewConstMetric(m.desc, m.kind, float64(m.value(&cache)), cache.Resource)
		}
	}
}
