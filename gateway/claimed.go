package gateway

import (
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// checkDeletable refuses to delete what the server would have to empty without a client's request afterwards, where the data is not its own.
func (s *Server) checkDeletable(t target) error {
	if !s.options.Claim.State().IsForeign() {
		return nil
	}
	return &apierrors.StatusError{ErrStatus: *newStatus(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, fmt.Sprintf(
		"%s %q holds other objects, and revtail deletes nothing without a client's request under %s, whose data is not its own: delete what it holds first, or start revtail with --adopt",
		t.Resource.QualifiedName(), t.Scope.Name, s.options.Prefix))}
}

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
			if stop := s.collector.Stopped(); stop != nil {
				return stop.Objects
			}
			return 0
		}),
	}
}
