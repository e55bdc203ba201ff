package garbage

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// objectKey names an object, which need not exist.
type objectKey struct {
	resource  *Resource
	namespace string
	name      string
}

func (k objectKey) String() string {
	if k.namespace == "" {
		return k.resource.Name + " " + k.name
	}
	return k.resource.Name + " " + k.namespace + "/" + k.name
}

// owner is what an ownerReference means: an object with this uid.
type owner struct {
	objectKey
	uid string
}

// graph has the ownerReferences of all objects that can be collected. It has no entry for an object without ownerReferences, or with an
// owner that counts as existing, because its kind is not served for example.
type graph struct {
	kinds map[kind]*Resource // immutable

	mu         sync.Mutex // guards the fields below
	owners     map[objectKey][]owner
	dependents map[objectKey]map[objectKey]struct{} // the inverse of owners
	reading    map[*Resource]struct{}               // the resources whose initial state has not been read whole
}

type kind struct{ apiVersion, kind string }

func newGraph(resources []*Resource) *graph {
	g := &graph{
		kinds:      make(map[kind]*Resource, len(resources)),
		owners:     make(map[objectKey][]owner),
		dependents: make(map[objectKey]map[objectKey]struct{}),
		reading:    make(map[*Resource]struct{}, len(resources)),
	}
	for _, r := range resources {
		g.kinds[kind{r.APIVersion, r.Kind}] = r
		g.reading[r] = struct{}{}
	}
	return g
}

// ownersOf returns the owners of an object that is to be deleted when all of them are gone. It returns none if the object has no owners
// or is being deleted, or if one of its owners counts as existing.
func (g *graph) ownersOf(key objectKey, o *Object) []owner {
	if !o.mayHaveOwners() {
		return nil
	}
	m, ok := o.metadata()
	if !ok || m.DeletionTimestamp != "" {
		return nil
	}
	owners := make([]owner, 0, len(m.OwnerReferences))
	for _, r := range m.OwnerReferences {
		o, ok := g.owner(key, r)
		if !ok {
			return nil
		}
		owners = append(owners, o)
	}
	return owners
}

// owner resolves an ownerReference of an object; false: the owner counts as existing.
func (g *graph) owner(key objectKey, r ownerReference) (owner, bool) {
	resource := g.kinds[kind{r.APIVersion, r.Kind}]
	if resource == nil || r.UID == "" || r.Name == "" || resource.Namespaced && key.namespace == "" {
		return owner{}, false
	}
	o := owner{objectKey{resource, "", r.Name}, r.UID}
	if resource.Namespaced {
		o.namespace = key.namespace // an object in another namespace is no owner
	}
	return o, true
}

// set replaces the owners of an object by those of its current state.
func (g *graph) set(key objectKey, o *Object) {
	owners := g.ownersOf(key, o)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.removeLocked(key)
	if len(owners) == 0 {
		return
	}
	g.owners[key] = owners
	for _, o := range owners {
		if g.dependents[o.objectKey] == nil {
			g.dependents[o.objectKey] = make(map[objectKey]struct{}, 1)
		}
		g.dependents[o.objectKey][key] = struct{}{}
	}
}

// remove removes an object as a dependent. Its own dependents stay.
func (g *graph) remove(key objectKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.removeLocked(key)
}

func (g *graph) removeLocked(key objectKey) {
	for _, o := range g.owners[key] {
		delete(g.dependents[o.objectKey], key)
		if len(g.dependents[o.objectKey]) == 0 {
			delete(g.dependents, o.objectKey)
		}
	}
	delete(g.owners, key)
}

// forget removes the objects of a resource, which is about to be read anew, and returns them.
func (g *graph) forget(r *Resource) (removed []objectKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reading[r] = struct{}{}
	for key := range g.owners {
		if key.resource == r {
			g.removeLocked(key)
			removed = append(removed, key)
		}
	}
	return removed
}

// synced notes that the initial state of a resource has been read, and returns the objects with an owner of that resource: its deletion
// may have been missed.
func (g *graph) synced(r *Resource) (dependents []objectKey) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.reading, r)
	for key, owners := range g.owners {
		if slices.ContainsFunc(owners, func(o owner) bool { return o.resource == r }) {
			dependents = append(dependents, key)
		}
	}
	return dependents
}

// isReading reports whether the initial state of a resource has not been read whole.
func (g *graph) isReading() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.reading) > 0
}

// dependentsOf returns the objects with an ownerReference to a key.
func (g *graph) dependentsOf(key objectKey) []objectKey {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Keys(g.dependents[key]))
}

// orphans returns all objects none of whose owners is in the caches, without those for whose owners requested is true.
func (g *graph) orphans(ctx context.Context, requested func([]owner) bool) (orphans []objectKey) {
	g.mu.Lock()
	all := maps.Clone(g.owners)
	g.mu.Unlock()
	for key, owners := range all {
		if g.orphaned(ctx, key) && !requested(owners) {
			orphans = append(orphans, key)
		}
	}
	return orphans
}

// owns reports whether an object of a resource, whatever its version, has dependents.
func (g *graph) owns(resource, namespace, name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range g.kinds {
		if r.Name == resource && len(g.dependents[objectKey{r, namespace, name}]) > 0 {
			return true
		}
	}
	return false
}

// orphaned reports whether none of the owners of an object is in the caches. The caches may lag behind, so etcd decides.
func (g *graph) orphaned(ctx context.Context, key objectKey) bool {
	g.mu.Lock()
	owners := g.owners[key] // never modified
	g.mu.Unlock()
	for _, o := range owners {
		found, err := o.resource.Objects.Cached(ctx, o.namespace, o.name)
		if err != nil || found.is(o.uid) {
			return false
		}
	}
	return len(owners) > 0
}
