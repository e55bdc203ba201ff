package garbage

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// propagation remembers which owners wait for the end of dependents that block theirs.
type propagation struct {
	mu      sync.Mutex // guards awaited
	awaited map[place]int
}

func (p *propagation) await(at place, dependents int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.awaited == nil {
		p.awaited = make(map[place]int)
	}
	p.awaited[at] = dependents
}

func (p *propagation) forget(at place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.awaited, at)
}

// lastAwaited counts an object that has gone, and returns its owners for which it was the last one that they waited for.
func (p *propagation) lastAwaited(at place, gone *Object, g *graph) []place {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.awaited) == 0 || !gone.mayHaveOwners() {
		return nil
	}
	f, _ := gone.facts()
	var last []place
	for _, r := range f.Owners {
		o, _ := g.owner(at, r)
		count, ok := p.awaited[o.place]
		if !ok {
			continue
		}
		if count--; count > 0 {
			p.awaited[o.place] = count
			continue
		}
		delete(p.awaited, o.place)
		last = append(last, o.place)
	}
	return last
}

// dependent is an object with a reference to an owner that is being deleted.
type dependent struct {
	place
	object *Object
	facts  facts
	owns   bool // has dependents of its own
}

// propagates reports whether the cache has an object that waits for its dependents.
func (c *owners) propagates(ctx context.Context, at place) bool {
	o, err := at.resource.Objects.Cached(ctx, at.namespace, at.name)
	return err != nil || o != nil && o.mayPropagate()
}

// propagate does with an owner's dependents what its finalizer asks for and, when that is done, removes the finalizer.
func (c *owners) propagate(ctx context.Context, at place, o *Object, f facts) (verdict, error) {
	dependents, err := c.dependents(ctx, at, o, f.UID)
	if err != nil {
		return later, err
	}
	finalizer, foreground := metav1.FinalizerOrphanDependents, f.policy() == metav1.DeletePropagationForeground
	if foreground {
		finalizer = metav1.FinalizerDeleteDependents
		if err = c.findOwners(ctx, at, o, dependents); err != nil {
			return later, err
		}
	}
	blocking := 0
	for _, d := range dependents {
		var blocks bool
		if foreground {
			blocks, err = c.deleteDependent(ctx, at, f.UID, d)
		} else {
			err = c.orphan(ctx, f.UID, d)
		}
		if err != nil {
			return later, fmt.Errorf("%s %s/%s, of an owner that is being deleted: %w", d.resource.Name, d.namespace, d.name, err)
		}
		if blocks {
			blocking++
		}
	}
	if blocking > 0 {
		c.propagation.await(at, blocking)
		return later, nil
	}
	err = at.resource.Objects.Edit(ctx, at.namespace, at.name, func(metadata map[string]any) bool {
		return metadata["uid"] == f.UID && removeFinalizer(metadata, finalizer)
	})
	if err != nil {
		return later, fmt.Errorf("%s %s/%s, whose dependents are done with: %w", at.resource.Name, at.namespace, at.name, err)
	}
	c.log.Debug("done with the dependents of a deleted object", "resource", at.resource.Name, "namespace", at.namespace, "name", at.name,
		"dependents", len(dependents), "policy", f.policy())
	return done, nil
}

// dependents are all objects with a reference to an owner, at least those that there were at the owner's revision: the one that
// says that it is being deleted. The graph does not know of all, since it is a watch behind.
func (c *owners) dependents(ctx context.Context, at place, o *Object, uid string) ([]dependent, error) {
	var out []dependent
	err := c.walk(ctx, at, o, func(found place, object *Object) {
		if !bytes.Contains(object.JSON, []byte(uid)) {
			return
		}
		d := dependent{place: found, object: object}
		d.facts, _ = object.facts()
		if d.facts.UID != uid && d.reference(uid) != nil {
			out = append(out, d)
		}
	})
	return out, err
}

// findOwners finds out which dependents own something.
func (c *owners) findOwners(ctx context.Context, at place, o *Object, dependents []dependent) error {
	byUID := make(map[string]*dependent, len(dependents))
	for i := range dependents {
		byUID[dependents[i].facts.UID] = &dependents[i]
	}
	if len(byUID) == 0 {
		return nil
	}
	return c.walk(ctx, at, o, func(_ place, object *Object) {
		f, _ := object.facts()
		for _, r := range f.Owners {
			if d := byUID[r.UID]; d != nil {
				d.owns = true
			}
		}
	})
}

// walk calls visit with all objects that may have owners, where those of an owner can be.
func (c *owners) walk(ctx context.Context, at place, o *Object, visit func(place, *Object)) error {
	for _, r := range c.graph.kinds {
		if at.namespace != "" && !r.Namespaced {
			continue
		}
		all, err := r.Objects.All(ctx, at.namespace, o.Revision)
		if err != nil {
			return fmt.Errorf("list %s: %w", r.Name, err)
		}
		for object := range all {
			if object.mayHaveOwners() {
				visit(place{r, object.Namespace, object.Name}, object)
			}
		}
	}
	return nil
}

func (d dependent) reference(uid string) *reference {
	i := slices.IndexFunc(d.facts.Owners, func(r reference) bool { return r.UID == uid })
	if i < 0 {
		return nil
	}
	return &d.facts.Owners[i]
}

// orphan takes an owner from a dependent, which stays.
func (c *owners) orphan(ctx context.Context, uid string, d dependent) error {
	return d.resource.Objects.Edit(ctx, d.namespace, d.name, func(metadata map[string]any) bool { return removeOwner(metadata, uid) })
}

// deleteDependent deletes a dependent, or takes the owner from one that has another; blocks: the owner must wait for its end.
func (c *owners) deleteDependent(ctx context.Context, at place, uid string, d dependent) (blocks bool, err error) {
	lives, err := c.livesWithout(ctx, uid, d)
	if err != nil {
		return false, err
	}
	if lives {
		return false, c.orphan(ctx, uid, d)
	}
	blocks = d.reference(uid).Blocks
	if d.facts.Deleted == "" {
		policy := metav1.DeletionPropagation("") // its own
		if d.owns {
			policy = metav1.DeletePropagationForeground
		}
		gone, err := d.resource.Objects.Delete(ctx, d.object, policy, fmt.Sprintf("its owner waits for its dependents to be deleted: %v, uid %s", at, uid))
		return blocks && !gone, err
	}
	// In a cycle that is deleted as a whole somebody must begin.
	return blocks && !c.descends(ctx, at, d.facts.UID), nil
}

// livesWithout reports whether a dependent has another owner that stays. In doubt it has.
func (c *owners) livesWithout(ctx context.Context, uid string, d dependent) (bool, error) {
	for _, r := range d.facts.Owners {
		if r.UID == uid {
			continue
		}
		o, ok := c.graph.owner(d.place, r)
		if !ok {
			return true, nil
		}
		found, err := o.resource.Objects.Read(ctx, o.namespace, o.name)
		if err != nil {
			return false, err
		}
		if !found.is(o.uid) {
			elsewhere, err := o.resource.Objects.Elsewhere(ctx, o.namespace, o.name)
			if err != nil || elsewhere {
				return true, err // another program has it
			}
			continue
		}
		if f, ok := found.facts(); !ok || f.policy() != metav1.DeletePropagationForeground {
			return true, nil
		}
	}
	return false, nil
}

// descends reports whether an object is owned, directly or not, by another one, as far as the caches know.
func (c *owners) descends(ctx context.Context, from place, uid string) bool {
	seen, line := map[place]bool{from: true}, []place{from}
	for len(line) > 0 {
		at := line[0]
		line = line[1:]
		o, err := at.resource.Objects.Cached(ctx, at.namespace, at.name)
		if err != nil || o == nil {
			continue
		}
		f, _ := o.facts()
		for _, r := range f.Owners {
			if r.UID == uid {
				return true
			}
			if next, ok := c.graph.owner(at, r); ok && !seen[next.place] {
				seen[next.place] = true
				line = append(line, next.place)
			}
		}
	}
	return false
}

// removeOwner removes the references to an owner, and the whole list with the last one; false: there are none.
func removeOwner(metadata map[string]any, uid string) bool {
	return removeFrom(metadata, "ownerReferences", func(item any) bool {
		reference, _ := item.(map[string]any)
		return reference["uid"] == uid
	})
}

func removeFinalizer(metadata map[string]any, finalizer string) bool {
	return removeFrom(metadata, "finalizers", func(item any) bool { return item == finalizer })
}

func removeFrom(metadata map[string]any, list string, which func(item any) bool) bool {
	items, _ := metadata[list].([]any)
	kept := slices.DeleteFunc(slices.Clone(items), which)
	if len(kept) == len(items) {
		return false
	}
	if len(kept) > 0 {
		metadata[list] = kept
	} else {
		delete(metadata, list)
	}
	return true
}
