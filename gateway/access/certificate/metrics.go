package certificate

import "github.com/prometheus/client_golang/prometheus"

var (
	expiry = prometheus.NewDesc("revtail_tls_certificate_expiry_timestamp_seconds",
		"When the server's certificate in use expires, as Unix time.", nil, nil)
	successful = prometheus.NewDesc("revtail_tls_last_reload_successful",
		"0 while the TLS files hold what cannot be used, so that what they held before stays in use; else 1.", nil, nil)
	failed = prometheus.NewDesc("revtail_tls_reload_failures_total",
		"How often TLS files were found that cannot be used.", nil, nil)
)

var _ prometheus.Collector = (*Keeper)(nil)

// Describe implements prometheus.Collector.
func (k *Keeper) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{expiry, successful, failed} {
		descriptions <- d
	}
}

// Collect implements prometheus.Collector.
func (k *Keeper) Collect(metrics chan<- prometheus.Metric) {
	ok, failures := k.Health()
	used := 0.0
	if ok {
		used = 1
	}
	metrics <- prometheus.MustNewConstMetric(expiry, prometheus.GaugeValue, float64(k.Get().leaf.NotAfter.Unix()))
	metrics <- prometheus.MustNewConstMetric(successful, prometheus.GaugeValue, used)
	metrics <- prometheus.MustNewConstMetric(failed, prometheus.CounterValue, float64(failures))
}
