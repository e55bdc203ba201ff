package metrics

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Requests counts HTTP requests.
type Requests struct {
	total *prometheus.CounterVec
	took  *prometheus.HistogramVec
}

// NewRequests makes it.
func NewRequests() *Requests {
	return &Requests{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "revtail_http_requests_total", Help: "HTTP requests that were answered; a watch when its head was sent, or when it has ended.",
		}, []string{"method", "code"}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "revtail_http_request_duration_seconds", Help: "How long answers to HTTP requests took, watches aside.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"method"}),
	}
}

// methods are those that have a label of their own: clients can think of any.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions}

// Done counts a request; long: how long it took says nothing.
func (r *Requests) Done(method string, code int, took time.Duration, long bool) {
	if !slices.Contains(methods, method) {
		method = "other"
	}
	r.total.WithLabelValues(method, strconv.Itoa(code)).Inc()
	if !long {
		r.took.WithLabelValues(method).Observe(took.Seconds())
	}
}

// Describe implements prometheus.Collector.
func (r *Requests) Describe(out chan<- *prometheus.Desc) {
	r.total.Describe(out)
	r.took.Describe(out)
}

// Collect implements prometheus.Collector.
func (r *Requests) Collect(out chan<- prometheus.Metric) {
	r.total.Collect(out)
	r.took.Collect(out)
}
