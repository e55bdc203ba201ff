package garbage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/etcdstore"
)

const (
	// sweepPage is the number of objects of a namespace per turn. After it, other namespaces have their turns.
	sweepPage = 64
	// sweepWidth is the number of concurrent deletions.
	sweepWidth = 8
)

// sweep is one deletion of all objects in a namespace.
type sweep struct {
	namespace string
	before    etcdstore.Revision // deletes only objects created before it; zero: all
	resources []*Resource        // the remaining ones
	after     string             // position in the first of them
	left      int                // number of objects that remain
}

// next deletes one page. It returns false at the end of the sweep.
func (s *sweep) next(ctx context.Context) (more bool, err error) {
	for len(s.resources) > 0 {
		objects := s.resources[0].Objects
		page, err := objects.List(ctx, s.namespace, s.after, sweepPage)
		if err != nil {
			return true, fmt.Errorf("list %s in %s: %w", s.resources[0].Name, s.namespace, err)
		}
		left, err := s.deleteAll(ctx, page.Objects)
		if err != nil {
			return true, fmt.Errorf("delete %s in %s: %w", s.resources[0].Name, s.namespace, err)
		}
		s.left += left
		if s.after = page.Next; page.Next == "" {
			s.resources = s.resources[1:]
		}
		if len(page.Objects) > 0 {
			break
		}
	}
	return len(s.resources) > 0, nil
}

// deleteAll deletes objects of the first resource, and returns the number of those that remain.
func (s *sweep) deleteAll(ctx context.Context, objects []*Object) (int, error) {
	var (
		running sync.WaitGroup
		left    atomic.Int64
		failed  = make([]error, len(objects))
		seats   = make(chan struct{}, sweepWidth)
	)
	for i, o := range objects {
		if s.before > 0 && o.Created >= s.before {
			continue
		}
		if f, ok := o.facts(); ok && f.Deleted != "" && len(f.Finalizers) > 0 {
			left.Add(1) // its finalizers are pending
			continue
		}
		seats <- struct{}{}
		running.Go(func() {
			gone, err := s.resources[0].Objects.Delete(ctx, o, metav1.DeletePropagationBackground, "its namespace is being deleted")
			if failed[i] = err; !gone {
				left.Add(1)
			}
			<-seats
		})
	}
	running.Wait()
	return int(left.Load()), errors.Join(failed...)
}
