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

// namespaceWidth is how many namespaces are emptied at the same time, so that one slow namespace does not delay the others.
const namespaceWidth = 2

// namespaces empties terminating namespaces and then removes them.
type namespaces struct {
	Config
	content func() []*Resource // returns the resources whose objects are in namespaces
	queue   *queue[string]
	left    countdown[string] // the objects that a sweep has left: when all are gone, the next sweep begins

	mu     sync.Mutex // guards sweeps, but a *sweep belongs to the namespace's step
	sweeps map[string]*sweep
}

// observe takes in one change of an object.
func (n *namespaces) observe(key objectKey, change Change) {
	switch {
	case key.resource.Name != n.Namespaces.Name:
		if change.Gone && n.left.decrement(key.namespace) {
			n.queue.add(key.namespace)
		}
	case change.Gone:
		n.mu.Lock()
		sweeping := n.sweeps[key.name] != nil // this replica may have removed the namespace: its last sweep follows
		n.mu.Unlock()
		if !sweeping {
			n.queue.drop(key.name)
		}
	case change.Object.terminating():
		n.queue.add(key.name)
	}
}

// step deletes one page of a namespace's content or, after the last page, the namespace.
func (n *namespaces) step(ctx context.Context, name string) (verdict, error) {
	n.left.set(name, 0)
	s := n.sweep(name)
	var namespace *Object
	if s.before == 0 {
		var err error
		namespace, err = n.Namespaces.Objects.Read(ctx, "", name)
		if err != nil {
			return later, err
		}
		if namespace == nil || !namespace.terminating() {
			n.setSweep(name, nil)
			return done, nil
		}
	}
	more, err := s.next(ctx)
	switch {
	case err != nil:
		return later, err
	case more:
		return again, nil
	case s.before > 0:
		n.setSweep(name, nil)
		return again, nil // another namespace may have this name now
	case s.left > 0:
		n.Logger.Debug("a namespace waits for the finalizers of objects in it", "namespace", name, "objects", s.left)
		n.left.set(name, s.left)
		n.setSweep(name, nil)
		return later, nil
	}
	return n.finish(ctx, namespace)
}

// finish removes an empty namespace. A last sweep deletes the objects that requests created while the namespace was removed. Objects that
// were created later belong to no Namespace, or to a new one.
func (n *namespaces) finish(ctx context.Context, namespace *Object) (verdict, error) {
	if finalizers := namespace.waitsFor(); len(finalizers) > 0 {
		n.setSweep(namespace.Name, nil)
		n.Logger.Debug("an empty namespace waits for its own finalizers", "namespace", namespace.Name, "finalizers", finalizers)
		return later, nil
	}
	last, err := n.remove(ctx, namespace)
	n.setSweep(namespace.Name, last)
	switch {
	case errors.Is(err, etcdstore.ErrConflict), errors.Is(err, etcdstore.ErrNotFound):
		return again, nil
	case err != nil:
		return later, err
	}
	n.Logger.Info("removed a namespace and what was in it", "namespace", namespace.Name)
	n.Removed(namespace.Name)
	return again, nil
}

// remove removes a namespace, and returns the sweep of the objects that were created before that.
func (n *namespaces) remove(ctx context.Context, namespace *Object) (*sweep, error) {
	revision, err := n.Store.Delete(ctx, n.Namespaces.Objects.Key("", namespace.Name), namespace.Revision)
	if err != nil {
		return nil, fmt.Errorf("remove namespace %s: %w", namespace.Name, err)
	}
	return &sweep{namespace: namespace.Name, before: revision, resources: n.content()}, nil
}

// RemoveEmpty removes a namespace at once, if it is at the revision given, has no finalizers, and nothing is in it; false: something is.
// The errors are those of the store.
func (c *Collector) RemoveEmpty(ctx context.Context, namespace *Object) (bool, error) {
	n := c.namespaces
	if len(namespace.waitsFor()) > 0 {
		return false, nil
	}
	for _, r := range n.content() {
		page, err := r.Objects.List(ctx, namespace.Name, "", 1)
		if err != nil {
			return false, fmt.Errorf("list %s in %s: %w", r.Name, namespace.Name, err)
		}
		if len(page.Objects) > 0 || page.Next != "" {
			return false, nil
		}
	}
	last, err := n.remove(ctx, namespace)
	if err != nil {
		return false, err
	}
	for more := true; more; {
		if more, err = last.next(ctx); err != nil {
			n.Logger.Warn("what was created in a namespace while it was removed stays", "namespace", namespace.Name, "error", err)
			break
		}
	}
	return true, nil
}

// sweep returns the current sweep of a namespace, or begins one.
func (n *namespaces) sweep(name string) *sweep {
	content := n.content()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.sweeps[name] == nil {
		n.sweeps[name] = &sweep{namespace: name, resources: content}
	}
	return n.sweeps[name]
}

// setSweep replaces the sweep of a namespace; nil: the next step begins one.
func (n *namespaces) setSweep(name string, s *sweep) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if s != nil {
		n.sweeps[name] = s
	} else {
		delete(n.sweeps, name)
	}
}

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
