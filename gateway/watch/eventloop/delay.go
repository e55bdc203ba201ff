package eventloop

import (
	"time"

	"revtail/gateway/metrics"
	"revtail/gateway/watch"
)

// clockEvery is how many deliveries share a look at the clock, which would otherwise be most of what timing them costs. They
// take some microseconds each.
const clockEvery = 8

// deliveryTimer times the deliveries of one goroutine to many clients.
type deliveryTimer struct {
	delays metrics.Delays // anybody may read it
	now    time.Time      // about
	timed  int            // since it was looked at
}

// start has the next delivery look at the clock.
func (s *deliveryTimer) start() { s.timed = 0 }

// recordDelivered says that the system has taken what was delivered.
func (s *deliveryTimer) recordDelivered(t *watch.Counters) {
	if !t.Timed() {
		return
	}
	if s.timed%clockEvery == 0 {
		s.now = time.Now()
	}
	s.timed++
	t.RecordDelivered(&s.delays, s.now)
}
