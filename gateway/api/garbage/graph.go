package garbage

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// place is the resource, namespace and name of an object, which need not exist.
type place struct {
	resource  *Resource
	namespace string
	name      string
}

func (p place) String() string {
	if p.namespace == "" {
		return p.resource.Name + " " + p.name
	}
	return p.resource.Name + " " + p.namespace + "/" + p.name
}

// owner is an owner of an object: its place and uid.
type owner struct {
	place
	uid string
}

// graph has the owners of objects. It does not contain objects without ownerReferences, nor objects that cannot be collected, such as
// those with an owner of a kind that is not served.
type graph struct {
	kinds map[kind]*Resource // does not change

	mu         sync.Mutex // guards the fields below
	dependents map[place][]owner
	owned      map[place]map[place]struct{} // the dependents by the places of their owners
}

type kind struct{ apiVersion, kind string }

func newGraph(resources []*Resource) *graph {
	g := &graph{
		kinds:      make(map[kind]*Resource, len(resources)),
		dependents: make(map[place][]owner),
		owned:      make(map[place]map[place]struct{}),
	}
	for _, r := range resources {
		g.kinds[kind{r.APIVersion, r.Kind}] = r
	}
	return g
}

// owners returns the owners of an object if it must be deleted when all of them are gone. It returns none if the object has no owners, is
// being deleted, or has an owner that counts as existing.
func (g *graph) owners(at place, o *Object) []owner {
	if !o.mayHaveOwners() {
		return nil
	}
	f, ok := o.facts()
	if !ok || f.Deleted != "" {
		return nil
	}
	owners := make([]owner, 0, len(f.Owners))
	for _, r := range f.Owners {
		o, ok := g.owner(at, r)
		if !ok {
			return nil
		}
		owners = append(owners, o)
	}
	return owners
}

// owner returns the target of a reference of an object; false: an owner that counts as existing.
func (g *graph) owner(at place, r reference) (owner, bool) {
	resource := g.kinds[kind{r.APIVersion, r.Kind}]
	if resource == nil || r.UID == "" || r.Name == "" || resource.Namespaced && at.namespace == "" {
		return owner{}, false
	}
	o := owner{place{resource, "", r.Name}, r.UID}
	if resource.Namespaced {
		o.namespace = at.namespace // an owner must be in the same namespace
	}
	return o, true
}

// set adds or replaces an object.
func (g *graph) set(at place, o *Object) {
	owners := g.owners(at, o)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.removeLocked(at)
	if len(owners) == 0 {
		return
	}
	g.dependents[at] = owners
	for _, o := range owners {
		if g.owned[o.place] == nil {
			g.owned[o.place] = make(map[place]struct{}, 1)
		}
		g.owned[o.place][at] = struct{}{}
	}
}

// remove removes an object as a dependent. Its own dependents stay.
func (g *graph) remove(at place) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.removeLocked(at)
}

func (g *graph) removeLocked(at place) {
	for _, o := range g.dependents[at] {
		delete(g.owned[o.place], at)
		if len(g.owned[o.place]) == 0 {
			delete(g.owned, o.place)
		}
	}
	delete(g.dependents, at)
}

// forget removes and returns all dependents of a resource before it is read again.
func (g *graph) forget(r *Resource) []place {
	g.mu.Lock()
	defer g.mu.Unlock()
	var gone []place
	for at := range g.dependents {
		if at.resource == r {
			gone = append(gone, at)
		}
	}
	for _, at := range gone {
		g.removeLocked(at)
	}
	return gone
}

// dependentsOf returns the objects with an owner at a place.
func (g *graph) dependentsOf(at place) []place {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []place
	for dependent := range g.owned[at] {
		out = append(out, dependent)
	}
	return out
}

// dependentsOn returns the objects with an owner of a resource.
func (g *graph) dependentsOn(r *Resource) []place {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []place
	for at, owners := range g.dependents {
		if slices.ContainsFunc(owners, func(o owner) bool { return o.resource == r }) {
			out = append(out, at)
		}
	}
	return out
}

// orphans returns all objects without an owner in the caches, except if asked returns true for the owners.
func (g *graph) orphans(ctx context.Context, asked func([]owner) bool) []place {
	g.mu.Lock()
	dependents := maps.Clone(g.dependents)
	g.mu.Unlock()
	var out []place
	for at, owners := range dependents {
		if g.orphaned(ctx, at) && !asked(owners) {
			out = append(out, at)
		}
	}
	return out
}

// owns reports whether an object of a resource, whatever its version, has dependents.
func (g *graph) owns(resource, namespace, name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range g.kinds {
		if r.Name == resource && len(g.owned[place{r, namespace, name}]) > 0 {
			return true
		}
	}
	return false
}

// orphaned reports whether the caches contain no owner of the object at a place. Caches lag behind, so that the result must be
// verified.
func (g *graph) orphaned(ctx context.Context, at place) bool {
	g.mu.Lock()
	owners := g.dependents[at] // never modified
	g.mu.Unlock()
	for _, o := range owners {
		found, err := o.resource.Objects.Cached(ctx, o.namespace, o.name)
		if err != nil || found.is(o.uid) {
			return false
		}
	}
	return len(owners) > 0
}
