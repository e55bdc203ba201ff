package eventloop

import (
	"testing"

	"revtail/gateway/gatewaytest/rawhttp"
	"revtail/gateway/netio/socket"
)

// TestDeliveryIsTimedWhenItIsTaken checks that a delivery is not recorded before the client has accepted its bytes.
func TestDeliveryIsTimedWhenItIsTaken(t *testing.T) {
	overAll(t, socket.WriteTimeout, func(t *testing.T, s *loopServer) {
		_, late := s.watchFrom(s.create("first"), "")
		s.large(0)
		rawhttp.Await(t, "the client to be late", func() bool { return s.blocked() == 1 })
		if n := s.figure("revtail_watch_delivery_duration_seconds_count"); n != 0 {
			t.Errorf("%v deliveries are counted before any was taken", n)
		}
		s.expectLarge(late, 0, 0)
		rawhttp.Await(t, "the delivery to be counted", func() bool { return s.figure("revtail_watch_delivery_duration_seconds_count") == 1 })
		if sum := s.figure("revtail_watch_delivery_duration_seconds_sum"); sum <= 0 {
			t.Errorf("it has taken %v s", sum)
		}
	})
}
