package delegated

import "github.com/prometheus/client_golang/prometheus"

// The questions to a kube-apiserver, and the results of them for a request of a client.
const (
	tokenReview, subjectReview = "TokenReview", "SubjectAccessReview"

	allowed   = "allowed"
	denied    = "denied"
	earlier   = "earlier"   // allowed, by an earlier decision, while the kube-apiserver does not answer
	undecided = "undecided" // the kube-apiserver did not answer
)

// newDecisions returns a counter of all decisions, those that are younger than decisionTTL included.
func newDecisions() *prometheus.CounterVec {
	decisions := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "revtail_kube_apiserver_decisions_total",
		Help: "Decisions of the kube-apiserver that were needed: allowed or denied, also by one of the last 10 s; earlier, by one of the last 5 minutes while it does not answer; undecided.",
	}, []string{"review", "result"})
	for _, review := range []string{tokenReview, subjectReview} {
		for _, result := range []string{allowed, denied, earlier, undecided} {
			decisions.WithLabelValues(review, result) // each begins with zero, so that the first one is an increase
		}
	}
	return decisions
}

var kept = prometheus.NewDesc("revtail_kube_apiserver_decisions_kept", "Decisions that are kept for the case that the kube-apiserver does not answer.", []string{"review"}, nil)

func (d *Delegate) count(review, result string) { d.decisions.WithLabelValues(review, result).Inc() }

// Describe implements prometheus.Collector.
func (d *Delegate) Describe(out chan<- *prometheus.Desc) {
	d.decisions.Describe(out)
	out <- kept
}

// Collect implements prometheus.Collector.
func (d *Delegate) Collect(out chan<- prometheus.Metric) {
	d.decisions.Collect(out)
	out <- prometheus.MustNewConstMetric(kept, prometheus.GaugeValue, float64(len(d.users.Keys())), tokenReview)
	out <- prometheus.MustNewConstMetric(kept, prometheus.GaugeValue, float64(len(d.allows.Keys())), subjectReview)
}
