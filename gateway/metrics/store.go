package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// StoreRequests counts requests to etcd.
type StoreRequests struct {
	total *prometheus.CounterVec
	took  *prometheus.HistogramVec
}

// NewStoreRequests makes it.
func NewStoreRequests() *StoreRequests {
	return &StoreRequests{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "revtail_etcd_requests_total", Help: "Requests to etcd, each attempt, by the code of gRPC that came back.",
		}, []string{"operation", "code"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "revtail_etcd_request_duration_seconds", Help: "How long requests to etcd took, each attempt.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}, []string{"operation"}),
	}
}

// Done counts a request.
func (s *StoreRequests) Done(operation, code string, took time.Duration) {
	s.total.WithLabelValues(operation, code).Inc()
	s.took.WithLabelValues(operation).Observe(took.Seconds())
}

// Describe implements prometheus.Collector.
func (s *StoreRequests) Describe(out chan<- *prometheus.Desc) {
	s.total.Describe(out)
	s.took.Describe(out)
}

// Collect implements prometheus.Collector.
func (s *StoreRequests) Collect(out chan<- prometheus.Metric) {
	s.total.Collect(out)
	s.took.Collect(out)
}
