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
	// sweepPage is how many objects of a namespace are deleted in one step. Between two steps other namespaces have theirs.
	sweepPage = 64
	// sweepWidth is how many of them are deleted at the same time.
	sweepWidth = 8
)

// sweep deletes all objects of a namespace, page by page.
type sweep struct {
	namespace string
	before    etcdstore.Revision // delete only objects that were created before; zero: all
	resources []*Resource        // those that are not done; the first is being swept
	after     string             // the position in the first resource
	left      int                // how many objects stay for now
}

// next deletes one page. False: there is no further page.
func (s *sweep) next(ctx context.Context) (more bool, err error) {
	for len(s.resources) > 0 {
		r := s.resources[0]
		page, err := r.Objects.List(ctx, s.namespace, s.after, sweepPage)
		if err != nil {
			return true, fmt.Errorf("list %s in %s: %w", r.Name, s.namespace, err)
		}
		left, err := s.deleteAll(ctx, page.Objects)
		if err != nil {
			return true, fmt.Errorf("delete %s in %s: %w", r.Name, s.namespace, err)
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

// deleteAll deletes objects of the first resource, and counts those that stay for now.
func (s *sweep) deleteAll(ctx context.Context, objects []*Object) (int, error) {
	var (
		running sync.WaitGroup
		left    atomic.Int64
		failed  = make([]error, len(objects))
		slots   = make(chan struct{}, sweepWidth)
	)
	for i, o := range objects {
		if s.before > 0 && o.Created >= s.before {
			continue
		}
		if m, ok := o.metadata(); ok && m.DeletionTimestamp != "" && len(m.Finalizers) > 0 {
			left.Add(1) // controllers remove the finalizers
			continue
		}
		slots <- struct{}{}
		running.Go(func() {
			gone, err := s.resources[0].Objects.Delete(ctx, o, metav1.DeletePropagationBackground, "its namespace is being deleted")
			if failed[i] = err; !gone {
				left.Add(1)
			}
			<-slots
		})
	}
	running.Wait()
	return int(left.Load()), errors.Join(failed...)
}
