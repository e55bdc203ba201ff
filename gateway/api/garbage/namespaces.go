package garbage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"revtail/etcdstore"
)

// namespaceWidth is the number of namespaces at the same time, so that a slow response delays one of them.
const namespaceWidth = 2

// namespaces deletes the content of namespaces with a deletionTimestamp, and then removes the namespaces.
type namespaces struct {
	store    etcdstore.Store
	resource *Resource
	queue    *queue[string]
	removed  func(name string) // called after each removal
	log      *slog.Logger

	mu      sync.Mutex  // guards the fields below, but not the sweeps, which belong to the turn of their namespace
	content []*Resource // the namespaced ones; replaced, never modified
	sweeps  map[string]*sweep
	// awaited is the number of objects with finalizers by namespace: when all are gone, the next sweep begins.
	awaited map[string]int
	// removing are the namespaces that this replica removes, until the end of their last sweep.
	removing map[string]bool
}

func newNamespaces(config Config) *namespaces {
	return &namespaces{
		store: config.Store, resource: config.Namespaces, queue: newQueue[string](), removed: config.Removed, log: config.Logger,
		sweeps: make(map[string]*sweep), awaited: make(map[string]int), removing: make(map[string]bool),
	}
}

// serve sets the resources.
func (n *namespaces) serve(resources []*Resource) {
	var content []*Resource
	for _, r := range resources {
		if r.Namespaced {
			content = append(content, r)
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.content = content
}

// see handles one change of any object.
func (n *namespaces) see(at place, change Change) {
	switch {
	case at.resource.Name == n.resource.Name && change.Gone:
		if !n.isRemoving(at.name) {
			n.queue.drop(at.name) // another replica has removed it
		}
	case at.resource.Name == n.resource.Name:
		if change.Object.deleted() {
			n.queue.add(at.name)
		}
	case change.Gone && n.lastAwaited(at.namespace):
		n.queue.add(at.namespace)
	}
}

// lastAwaited counts a deleted object, and reports whether it was the last one that the namespace waits for.
func (n *namespaces) lastAwaited(namespace string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	count, ok := n.awaited[namespace]
	if !ok {
		return false
	}
	if count--; count > 0 {
		n.awaited[namespace] = count
		return false
	}
	delete(n.awaited, namespace)
	return true
}

// step processes one page of the content of a namespace.
func (n *namespaces) step(ctx context.Context, name string) (verdict, error) {
	s, final := n.current(name)
	var namespace *Object
	if !final {
		var err error
		namespace, err = n.resource.Objects.Read(ctx, "", name)
		if err != nil {
			return later, err
		}
		if namespace == nil || !namespace.deleted() {
			n.end(name)
			return done, nil
		}
	}
	more, err := s.next(ctx)
	switch {
	case err != nil:
		return later, err
	case more:
		return again, nil
	}
	n.end(name)
	if final {
		return again, nil // there may be a new one of the same name
	}
	if s.left > 0 {
		n.await(name, s.left)
		return later, nil
	}
	return n.finish(ctx, namespace)
}

// finish removes an empty namespace. A last sweep deletes the objects that concurrent requests created in it before the removal. Objects
// after the removal belong to no namespace object, or to a new one.
func (n *namespaces) finish(ctx context.Context, namespace *Object) (verdict, error) {
	f, ok := namespace.facts()
	if ok && len(f.Finalizers) > 0 {
		n.log.Debug("an empty namespace waits for its own finalizers", "namespace", namespace.Name)
		return later, nil
	}
	last, err := n.remove(ctx, namespace)
	switch {
	case errors.Is(err, etcdstore.ErrConflict), errors.Is(err, etcdstore.ErrNotFound):
		return again, nil
	case err != nil:
		return later, err
	}
	n.log.Info("removed a namespace and its content", "namespace", namespace.Name)
	n.removed(namespace.Name)
	n.mu.Lock()
	n.sweeps[namespace.Name] = last
	n.mu.Unlock()
	return again, nil
}

// remove removes a namespace and returns its last sweep.
func (n *namespaces) remove(ctx context.Context, namespace *Object) (*sweep, error) {
	n.mark(namespace.Name, true)
	revision, err := n.store.Delete(ctx, namespace.Key, namespace.Revision)
	if err != nil {
		n.mark(namespace.Name, false)
		return nil, fmt.Errorf("remove namespace %s: %w", namespace.Name, err)
	}
	return &sweep{namespace: namespace.Name, before: revision, resources: n.resources()}, nil
}

func (n *namespaces) resources() []*Resource {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.content
}

// removeEmpty removes a namespace if it has no content.
func (n *namespaces) removeEmpty(ctx context.Context, namespace *Object) (bool, error) {
	for _, r := range n.resources() {
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
	defer n.mark(namespace.Name, false)
	for more := true; more; {
		if more, err = last.next(ctx); err != nil {
			n.log.Warn("objects that were created in a namespace during its removal were not deleted", "namespace", namespace.Name, "error", err)
			break
		}
	}
	return true, nil
}

// current returns the current sweep of a namespace; final: the sweep after its removal.
func (n *namespaces) current(name string) (s *sweep, final bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.awaited, name)
	s = n.sweeps[name]
	if s == nil {
		s = &sweep{namespace: name, resources: n.content}
		n.sweeps[name] = s
	}
	return s, s.before > 0
}

func (n *namespaces) end(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.sweeps, name)
	delete(n.removing, name)
}

func (n *namespaces) mark(name string, removing bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if removing {
		n.removing[name] = true
	} else {
		delete(n.removing, name)
	}
}

func (n *namespaces) isRemoving(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.removing[name]
}

func (n *namespaces) await(name string, left int) {
	n.log.Debug("a namespace waits for the finalizers of objects in it", "namespace", name, "objects", left)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.awaited[name] = left
}
