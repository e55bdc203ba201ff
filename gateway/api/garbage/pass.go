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
	// passPage is how many objects of a namespace are deleted in one turn: after it, the other namespaces have theirs.
	passPage = 64
	// passWidth is how many of them at the same time.
	passWidth = 8
)

// pass is one walk over everything that stands in a namespace, deleting it.
type pass struct {
	namespace string
	before    etcdstore.Revision // only what was created before it; zero: everything
	resources []*Resource        // the ones still to be walked over
	after     string             // where in the first of them
	left      int                // how many objects stay for now
}

// next deletes one page. False: the walk is over.
func (p *pass) next(ctx context.Context) (more bool, err error) {
	for len(p.resources) > 0 {
		objects := p.resources[0].Objects
		page, err := objects.List(ctx, p.namespace, p.after, passPage)
		if err != nil {
			return true, fmt.Errorf("list %s in %s: %w", p.resources[0].Name, p.namespace, err)
		}
		left, err := p.deleteAll(ctx, page.Objects)
		if err != nil {
			return true, fmt.Errorf("delete %s in %s: %w", p.resources[0].Name, p.namespace, err)
		}
		p.left += left
		if p.after = page.Next; page.Next == "" {
			p.resources = p.resources[1:]
		}
		if len(page.Objects) > 0 {
			break
		}
	}
	return len(p.resources) > 0, nil
}

// deleteAll deletes objects of the first resource, and counts those that stay for now.
func (p *pass) deleteAll(ctx context.Context, objects []*Object) (int, error) {
	var (
		running sync.WaitGroup
		left    atomic.Int64
		failed  = make([]error, len(objects))
		seats   = make(chan struct{}, passWidth)
	)
	for i, o := range objects {
		if p.before > 0 && o.Created >= p.before {
			continue
		}
		if f, ok := o.facts(); ok && f.Deleted != "" && len(f.Finalizers) > 0 {
			left.Add(1) // others are to finish with it
			continue
		}
		seats <- struct{}{}
		running.Go(func() {
			gone, err := p.resources[0].Objects.Delete(ctx, o, metav1.DeletePropagationBackground, "its namespace is being deleted")
			if failed[i] = err; !gone {
				left.Add(1)
			}
			<-seats
		})
	}
	running.Wait()
	return int(left.Load()), errors.Join(failed...)
}
