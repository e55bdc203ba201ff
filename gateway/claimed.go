package gateway

import (
	"github.com/prometheus/client_golang/prometheus"
)

// claimCollectors show what the server holds back without a client's request.
func (s *Server) claimCollectors() []prometheus.Collector {
	gauge := func(name, help string, value func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) })
	}
	return []prometheus.Collector{
		gauge("revtail_foreign_data", "1 while the data under --etcd-prefix is not revtail's own: revtail then writes nothing without a client's request.", func() int {
			if s.options.Claim.State().IsForeign() {
				return 1
			}
			return 0
		}),
		gauge("revtail_garbage_collector_held_objects", "Objects for which the garbage collector has stopped: their owners are gone without a DELETE request, and they are too many to be deleted without a person's word.", func() int {
			if stop := s.store.collector.Stopped(); stop != nil {
				return stop.Objects
			}
			return 0
		}),
	}
}
