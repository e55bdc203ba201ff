package reload

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// SetMetrics names the metrics, of which File is a collector, and their subject. It is called before they are collected.
func (f *File[T]) SetMetrics(successful, failures, subject string, labels prometheus.Labels) {
	f.metrics[0] = prometheus.NewDesc(successful,
		fmt.Sprintf("0 while the content of %s is invalid, so that the content before it stays in use; else 1.", subject), nil, labels)
	f.metrics[1] = prometheus.NewDesc(failures, fmt.Sprintf("How often the content of %s was invalid.", subject), nil, labels)
}

var _ prometheus.Collector = (*File[int])(nil)

// Describe implements prometheus.Collector.
func (f *File[T]) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- f.metrics[0]
	descriptions <- f.metrics[1]
}

// Collect implements prometheus.Collector.
func (f *File[T]) Collect(out chan<- prometheus.Metric) {
	value := 1.0
	if f.reported.Load() {
		value = 0
	}
	out <- prometheus.MustNewConstMetric(f.metrics[0], prometheus.GaugeValue, value)
	out <- prometheus.MustNewConstMetric(f.metrics[1], prometheus.CounterValue, float64(f.failures.Load()))
}
