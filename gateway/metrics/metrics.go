// Package metrics shows a gateway's figures to Prometheus.
package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Cache are the figures of one resource's cache.
type Cache struct {
	Resource string // qualified: "pods", "deployments.apps"
	Ready    bool
	Revision int64
	Objects  int
	Invalid  int
	Watchers int
	Events   int
	Untrue   int
	Bytes    int
	Fills    int
	Historic int
}

// Source is asked for its figures at every request.
type Source struct {
	Caches  func() []Cache
	Watches func() Watches
}

// Handler serves the figures in Prometheus' formats, those of an embedded etcd (which registers with the default registry)
// and of more among them.
func Handler(version string, source Source, more ...prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(newCollector(version, source))
	registry.MustRegister(more...)
	gatherers := prometheus.Gatherers{registry, defaultRegistry()}
	return promhttp.HandlerFor(gatherers, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// defaultRegistry is where etcd and the Go collectors are.
func defaultRegistry() prometheus.Gatherer {
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		_ = prometheus.Register(c) // already there: as good
	}
	return prometheus.DefaultGatherer
}
