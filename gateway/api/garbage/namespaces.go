package garbage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"revtail/etcdstore"
)

// namespaceWidth is how many namespaces have their turn at the same time: a slow answer delays one of them.
const namespaceWidth = 2

// namespaces empties namespaces that have a deletionTimestamp, and then removes them.
type namespaces struct {
	store    etcdstore.Store
	resource *Resource
	queue    *queue[string]
	removed  func(name string) // is told of each namespace that is gone
	log      *slog.Logger

	mu      sync.Mutex  // guards the fields below; what a *pass points to belongs to the namespace's turn
	content []*Resource // the namespaced ones; replaced, never modified
	passes  map[string]*pass
	// awaited counts, by namespace, the objects that finalizers hold: when so many have gone, it is time for a new pass.
	awaited map[string]int
	// removing are the namespaces that this replica is about to remove, or has, before the pass for what came in last.
	removing map[string]bool
}

func newNamespaces(config Config) *namespaces {
	return &namespaces{
		store: config.Store, resource: config.Namespaces, queue: newQueue[string](), removed: config.Removed, log: config.Logger,
		passes: make(map[string]*pass), awaited: make(map[string]int), removing: make(map[string]bool),
	}
}

// serve says which resources there are from now on.
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

// see takes in one change of any object.
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

// lastAwaited counts an object that has gone.
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

// step goes on with a namespace, by one page of its content.
func (n *namespaces) step(ctx context.Context, name string) (verdict, error) {
	p, final := n.current(name)
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
	more, err := p.next(ctx)
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
	if p.left > 0 {
		n.await(name, p.left)
		return later, nil
	}
	return n.finish(ctx, namespace)
}

// finish removes an empty namespace. What was created in it before that, by requests that were under way, goes with it in a
// last pass; what was created after belongs to no namespace object, or to a new one.
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
	n.log.Info("removed a namespace and what was in it", "namespace", namespace.Name)
	n.removed(namespace.Name)
	n.mu.Lock()
	n.passes[namespace.Name] = last
	n.mu.Unlock()
	return again, nil
}

// remove removes a namespace and returns the pass for what was created in it in the last moment.
func (n *namespaces) remove(ctx context.Context, namespace *Object) (*pass, error) {
	n.mark(namespace.Name, true)
	revision, err := n.store.Delete(ctx, namespace.Key, namespace.Revision)
	if err != nil {
		n.mark(namespace.Name, false)
		return nil, fmt.Errorf("remove namespace %s: %w", namespace.Name, err)
	}
	return &pass{namespace: namespace.Name, before: revision, resources: n.resources()}, nil
}

func (n *namespaces) resources() []*Resource {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.content
}

// removeEmpty removes a namespace if nothing stands in it.
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
			n.log.Warn("what was created in a namespace while it was removed stays", "namespace", namespace.Name, "error", err)
			break
		}
	}
	return true, nil
}

// current is the pass that a namespace is in; final: the one after its removal.
func (n *namespaces) current(name string) (p *pass, final bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.awaited, name)
	p = n.passes[name]
	if p == nil {
		p = &pass{namespace: name, resources: n.content}
		n.passes[name] = p
	}
	return p, p.before > 0
}

func (n *namespaces) end(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.passes, name)
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
