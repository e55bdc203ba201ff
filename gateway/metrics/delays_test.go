package metrics_test

import (
	"testing"
	"time"

	"revtail/gateway/metrics"
)

// BenchmarkObserve is what the figure adds to a delivery, with the look at the clock.
func BenchmarkObserve(b *testing.B) {
	delays, received := new(metrics.Delays), time.Now()
	b.ReportAllocs()
	for b.Loop() {
		delays.Observe(time.Since(received) % (2 * time.Millisecond))
	}
}
