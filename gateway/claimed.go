package gateway

import (
	"context"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/gateway/claim"
)

// claimState is whose data the server serves.
func (s *Server) claimState() claim.State {
	if s.options.Claim == nil {
		return claim.State{Owner: claim.Own, Writable: true}
	}
	return s.options.Claim.State()
}

// isForeign tells whether the data is somebody else's: then the server does nothing that no client asks for.
func (s *Server) isForeign() bool { return s.claimState().IsForeign() }

// verifyOwn returns an error unless etcd says that the data is the server's own.
func (s *Server) verifyOwn(ctx context.Context) error {
	if s.options.Claim == nil {
		return nil
	}
	return s.options.Claim.Verify(ctx)
}

// waitOwned waits until the data is the server's own, or returns ctx's error.
func (s *Server) waitOwned(ctx context.Context) error {
	if s.options.Claim == nil {
		return ctx.Err()
	}
	select {
	case <-s.options.Claim.Owned():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// checkWritable refuses writes to data that can be read only.
func (s *Server) checkWritable(method string) error {
	if state := s.claimState(); method != http.MethodGet && !state.Writable {
		return &claim.ReadOnlyError{Prefix: s.options.Prefix, State: state}
	}
	return nil
}

// checkDeletable refuses to delete what the server would have to empty without a client's request afterwards, where the data is not its own.
func (s *Server) checkDeletable(t target) error {
	if !s.isForeign() {
		return nil
	}
	return &apierrors.StatusError{ErrStatus: *newStatus(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, fmt.Sprintf(
		"%s %q holds other objects, and revtail deletes nothing without a client's request under %s, whose data is not its own: delete what it holds first, or start revtail with --adopt",
		t.resource.QualifiedName(), t.scope.Name, s.options.Prefix))}
}

// claimCollectors show what the server holds back without a client's request.
func (s *Server) claimCollectors() []prometheus.Collector {
	gauge := func(name, help string, value func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value()) })
	}
	return []prometheus.Collector{
		gauge("revtail_foreign_data", "1 while the data under --etcd-prefix is not revtail's own: revtail then writes nothing without a client's request.", func() int {
			if s.isForeign() {
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
