package garbage

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// place is where an object stands, or would.
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

// owner is an object that another one needs: a place, and the uid of what must stand there.
type owner struct {
	place
	uid string
}

// graph knows which objects have owners. It holds nothing of objects without ownerReferences, whether or not they own
// something, nor of those that cannot be collected: because one of their owners is of a kind that is not served, say.
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

// owners are those of an object, if it is to be deleted when all of them are gone: none if it has no owners, if it is being
// deleted already, or if one of its owners counts as existing whatever happens.
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

// owner is what a reference of an object means; false: something that counts as existing.
func (g *graph) owner(at place, r reference) (owner, bool) {
	resource := g.kinds[kind{r.APIVersion, r.Kind}]
	if resource == nil || r.UID == "" || r.Name == "" || resource.Namespaced && at.namespace == "" {
		return owner{}, false
	}
	o := owner{place{resource, "", r.Name}, r.UID}
	if resource.Namespaced {
		o.namespace = at.namespace // an owner in another namespace is none
	}
	return o, true
}

// set notes an object as it is now.
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

// remove forgets an object as a dependent. Its own dependents stay.
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

// forget removes all dependents of a resource, which is about to be read anew, and returns them.
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

// dependentsOf are the objects that name what stands at a place as an owner.
func (g *graph) dependentsOf(at place) []place {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []place
	for dependent := range g.owned[at] {
		out = append(out, dependent)
	}
	return out
}

// dependentsOn are the objects that have an owner of a resource.
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

// orphans are all objects none of whose owners is known to the caches, but for those with owners for which asked.
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

// orphaned reports whether none of the owners of what stands at a place is known to the caches. They may lag behind: it is
// only a reason to look.
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
