package metrics

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// counted is the collector of a counter and a histogram of requests.
type counted struct {
	total    *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

// Describe implements prometheus.Collector.
func (c counted) Describe(out chan<- *prometheus.Desc) {
	c.total.Describe(out)
	c.duration.Describe(out)
}

// Collect implements prometheus.Collector.
func (c counted) Collect(out chan<- prometheus.Metric) {
	c.total.Collect(out)
	c.duration.Collect(out)
}

// Requests counts HTTP requests.
type Requests struct{ counted }

// NewRequests returns a collector without requests.
func NewRequests() *Requests {
	return &Requests{counted{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "revtail_http_requests_total", Help: "HTTP responses. A watch counts when its headers are sent, or when it ends.",
		}, []string{"method", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "revtail_http_request_duration_seconds", Help: "Duration of HTTP requests without watches and long polls.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"method"}),
	}}
}

// methods are the methods with a label of their own. Clients can send any method, and each label costs memory.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}

// Done counts a request. long: it is a watch or a long poll, whose duration is not observed.
func (r *Requests) Done(method string, code int, took time.Duration, long bool) {
	if !slices.Contains(methods, method) {
		method = "other"
	}
	r.total.WithLabelValues(method, strconv.Itoa(code)).Inc()
	if !long {
		r.duration.WithLabelValues(method).Observe(took.Seconds())
	}
}

// StoreRequests counts requests to etcd.
type StoreRequests struct{ counted }

// NewStoreRequests returns a collector without requests.
func NewStoreRequests() *StoreRequests {
	return &StoreRequests{counted{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "revtail_etcd_requests_total", Help: "Requests to etcd, each attempt, by the gRPC code of the response.",
		}, []string{"operation", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "revtail_etcd_request_duration_seconds", Help: "Duration of requests to etcd, each attempt.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
		}, []string{"operation"}),
	}}
}

// Done counts an attempt of a request.
func (s *StoreRequests) Done(operation, code string, took time.Duration) {
	s.total.WithLabelValues(operation, code).Inc()
	s.duration.WithLabelValues(operation).Observe(took.Seconds())
}
