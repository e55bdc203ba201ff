package upstream

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// newAnswers returns a counter of answers by the first digit of their codes.
func newAnswers() *prometheus.CounterVec {
	answers := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "revtail_kube_apiserver_requests_total", Help: "Requests that were forwarded to the kube-apiserver, by the class of its response; none: the gateway has answered.",
	}, []string{"code"})
	for _, class := range []string{"1xx", "2xx", "3xx", "4xx", "5xx", unanswered} {
		answers.WithLabelValues(class) // each begins with zero, so that the first one is an increase
	}
	return answers
}

// unanswered is the class of requests without an answer of the kube-apiserver.
const unanswered = "none"

// count counts a request by the code of its answer; zero: there is none.
func (p *Proxy) count(code int) {
	class := unanswered
	if code > 0 {
		class = strconv.Itoa(code/100) + "xx"
	}
	p.answers.WithLabelValues(class).Inc()
}

// Collector returns the metric of the forwarded requests.
func (p *Proxy) Collector() prometheus.Collector { return p.answers }
