package certificate

import "github.com/prometheus/client_golang/prometheus"

var expiry = prometheus.NewDesc("revtail_tls_certificate_expiry_timestamp_seconds",
	"When the server's certificate in use expires, as Unix time.", nil, nil)

var _ prometheus.Collector = (*Keeper)(nil)

// Describe implements prometheus.Collector.
func (k *Keeper) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- expiry
	k.File.Describe(descriptions)
}

// Collect implements prometheus.Collector.
func (k *Keeper) Collect(out chan<- prometheus.Metric) {
	out <- prometheus.MustNewConstMetric(expiry, prometheus.GaugeValue, float64(k.Get().leaf.NotAfter.Unix()))
	k.File.Collect(out)
}
