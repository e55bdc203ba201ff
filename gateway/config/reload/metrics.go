package reload

import "github.com/prometheus/client_golang/prometheus"

type metrics struct{ successful, failed *prometheus.Desc }

func newMetrics(flag string) metrics {
	label := prometheus.Labels{"flag": flag}
	return metrics{
		successful: prometheus.NewDesc("revtail_file_last_reload_successful",
			"0 while the file of the flag holds what cannot be used, so that what it held before stays in use; else 1.", nil, label),
		failed: prometheus.NewDesc("revtail_file_reload_failures_total",
			"How often the file of the flag was found to hold what cannot be used.", nil, label),
	}
}

var _ prometheus.Collector = (*File[int])(nil)

// Describe implements prometheus.Collector.
func (f *File[T]) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- f.metrics.successful
	descriptions <- f.metrics.failed
}

// Collect implements prometheus.Collector.
func (f *File[T]) Collect(out chan<- prometheus.Metric) {
	ok, failures := f.Health()
	successful := 0.0
	if ok {
		successful = 1
	}
	out <- prometheus.MustNewConstMetric(f.metrics.successful, prometheus.GaugeValue, successful)
	out <- prometheus.MustNewConstMetric(f.metrics.failed, prometheus.CounterValue, float64(failures))
}
