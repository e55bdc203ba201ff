// Package metrics has the Prometheus collectors of a gateway. They read values at a scrape from the packages that count them.
package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Source is asked for its figures at every request.
type Source struct {
	Caches  func() []Cache
	Watches func() Watches
}

// Handler serves the figures in Prometheus' formats, those of an embedded etcd (which registers with the default registry)
// and of more among them.
func Handler(build Build, source Source, more ...prometheus.Collector) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(&collector{build, source})
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
