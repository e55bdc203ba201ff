package metrics_test

import (
	"testing"
	"time"

	"revtail/gateway/metrics"
)

// BenchmarkObserve measures the cost of the metric for a delivery, with the read of the clock.
func BenchmarkObserve(b *testing.B) {
	delays, received := new(metrics.Delays), time.Now()
	b.ReportAllocs()
	for b.Loop() {
		delays.Observe(time.Since(received) % (2 * time.Millisecond))
	}
}
