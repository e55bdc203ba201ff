package garbage

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// dependent is an object with an ownerReference to an owner that is being deleted.
type dependent struct {
	objectKey
	object   *Object
	metadata metadata
	owns     bool // has dependents of its own
}

// unblock counts a deleted object, and queues its owners for which it was the last dependent that blocked their deletion.
func (c *owners) unblock(key objectKey, deleted *Object) {
	if c.blocking.empty() || !deleted.mayHaveOwners() {
		return
	}
	m, _ := deleted.metadata()
	for _, r := range m.OwnerReferences {
		if o, _ := c.graph.owner(key, r); c.blocking.decrement(o.objectKey) {
			c.queue.add(o.objectKey)
		}
	}
}

// propagates reports whether the cache has an object whose deletion waits for its dependents.
func (c *owners) propagates(ctx context.Context, key objectKey) bool {
	o, err := key.resource.Objects.Cached(ctx, key.namespace, key.name)
	return err != nil || o != nil && o.mayPropagate()
}

// propagate deletes or orphans the dependents of an owner, as its finalizer says, and then removes the finalizer.
func (c *owners) propagate(ctx context.Context, key objectKey, o *Object, m metadata) (verdict, error) {
	dependents, err := c.dependents(ctx, key, o, m.UID)
	if err != nil {
		return later, err
	}
	finalizer, foreground := metav1.FinalizerOrphanDependents, m.policy() == metav1.DeletePropagationForeground
	if foreground {
		finalizer = metav1.FinalizerDeleteDependents
		if err = c.findOwners(ctx, key, o, dependents); err != nil {
			return later, err
		}
	}
	blocking := 0
	for _, d := range dependents {
		var blocks bool
		if foreground {
			blocks, err = c.deleteDependent(ctx, key, m.UID, d)
		} else {
			err = d.orphan(ctx, m.UID)
		}
		if err != nil {
			return later, fmt.Errorf("%s %s/%s, of an owner that is being deleted: %w", d.resource.Name, d.namespace, d.name, err)
		}
		if blocks {
			blocking++
		}
	}
	if blocking > 0 {
		c.blocking.set(key, blocking)
		return later, nil
	}
	err = key.resource.Objects.Edit(ctx, key.namespace, key.name, func(metadata map[string]any) bool {
		return metadata["uid"] == m.UID && removeFrom(metadata, "finalizers", func(item any) bool { return item == finalizer })
	})
	if err != nil {
		return later, fmt.Errorf("%s %s/%s, whose dependents are done with: %w", key.resource.Name, key.namespace, key.name, err)
	}
	c.Logger.Debug("done with the dependents of a deleted object", "resource", key.resource.Name, "namespace", key.namespace, "name", key.name,
		"dependents", len(dependents), "policy", m.policy())
	return done, nil
}

// dependents returns all objects with a reference to an owner in the caches, which are read at least at the owner's revision: the one
// that says that it is being deleted. The graph may lack some, because it follows the caches.
func (c *owners) dependents(ctx context.Context, key objectKey, o *Object, uid string) ([]dependent, error) {
	var out []dependent
	err := c.walk(ctx, key, o, func(found objectKey, object *Object) {
		if !bytes.Contains(object.JSON, []byte(uid)) {
			return
		}
		d := dependent{objectKey: found, object: object}
		d.metadata, _ = object.metadata()
		if d.metadata.UID != uid && d.reference(uid) != nil {
			out = append(out, d)
		}
	})
	return out, err
}

// findOwners sets owns of the dependents that have dependents.
func (c *owners) findOwners(ctx context.Context, key objectKey, o *Object, dependents []dependent) error {
	byUID := make(map[string]*dependent, len(dependents))
	for i := range dependents {
		byUID[dependents[i].metadata.UID] = &dependents[i]
	}
	if len(byUID) == 0 {
		return nil
	}
	return c.walk(ctx, key, o, func(_ objectKey, object *Object) {
		m, _ := object.metadata()
		for _, r := range m.OwnerReferences {
			if d := byUID[r.UID]; d != nil {
				d.owns = true
			}
		}
	})
}

// walk calls visit with all objects that may have owners, where the dependents of an owner can be.
func (c *owners) walk(ctx context.Context, key objectKey, o *Object, visit func(objectKey, *Object)) error {
	for _, r := range c.graph.kinds {
		if key.namespace != "" && !r.Namespaced {
			continue
		}
		all, err := r.Objects.All(ctx, key.namespace, o.Revision)
		if err != nil {
			return fmt.Errorf("list %s: %w", r.Name, err)
		}
		for object := range all {
			if object.mayHaveOwners() {
				visit(objectKey{r, object.Namespace, object.Name}, object)
			}
		}
	}
	return nil
}

// reference returns the ownerReference to an owner; nil: there is none.
func (d dependent) reference(uid string) *ownerReference {
	for i, r := range d.metadata.OwnerReferences {
		if r.UID == uid {
			return &d.metadata.OwnerReferences[i]
		}
	}
	return nil
}

// orphan removes the ownerReferences to an owner.
func (d dependent) orphan(ctx context.Context, uid string) error {
	return d.resource.Objects.Edit(ctx, d.namespace, d.name, func(metadata map[string]any) bool {
		return removeFrom(metadata, "ownerReferences", func(item any) bool {
			reference, _ := item.(map[string]any)
			return reference["uid"] == uid
		})
	})
}

// deleteDependent deletes a dependent, or orphans it if it has another owner; blocks: the owner must wait for its deletion.
func (c *owners) deleteDependent(ctx context.Context, key objectKey, uid string, d dependent) (blocks bool, err error) {
	lives, err := c.livesWithout(ctx, uid, d)
	if err != nil {
		return false, err
	}
	if lives {
		return false, d.orphan(ctx, uid)
	}
	blocks = d.reference(uid).BlockOwnerDeletion
	if d.metadata.DeletionTimestamp == "" {
		policy := d.metadata.deletionPolicy()
		if d.owns {
			policy = metav1.DeletePropagationForeground
		}
		gone, err := d.resource.Objects.Delete(ctx, d.object, policy, fmt.Sprintf("its owner waits for its dependents to be deleted: %v, uid %s", key, uid))
		return blocks && !gone, err
	}
	// In a cycle of objects that are all being deleted, none may wait for another.
	return blocks && !c.descends(ctx, key, d.metadata.UID), nil
}

// livesWithout reports whether a dependent has another owner that stays. An owner that cannot be read as one stays.
func (c *owners) livesWithout(ctx context.Context, uid string, d dependent) (bool, error) {
	for _, r := range d.metadata.OwnerReferences {
		if r.UID == uid {
			continue
		}
		o, ok := c.graph.owner(d.objectKey, r)
		if !ok {
			return true, nil
		}
		found, exists, err := o.find(ctx)
		if err != nil {
			return false, err
		}
		if found != nil {
			m, ok := found.metadata()
			exists = !ok || m.policy() != metav1.DeletePropagationForeground
		}
		if exists {
			return true, nil
		}
	}
	return false, nil
}

// descends reports whether an object is owned, directly or not, by another one, as far as the caches know.
func (c *owners) descends(ctx context.Context, from objectKey, uid string) bool {
	seen, line := map[objectKey]bool{from: true}, []objectKey{from}
	for len(line) > 0 {
		key := line[0]
		line = line[1:]
		o, err := key.resource.Objects.Cached(ctx, key.namespace, key.name)
		if err != nil || o == nil {
			continue
		}
		m, _ := o.metadata()
		for _, r := range m.OwnerReferences {
			if r.UID == uid {
				return true
			}
			if next, ok := c.graph.owner(key, r); ok && !seen[next.objectKey] {
				seen[next.objectKey] = true
				line = append(line, next.objectKey)
			}
		}
	}
	return false
}

// removeFrom removes elements from a list, and the list with its last element; false: there are none.
func removeFrom(metadata map[string]any, list string, which func(item any) bool) bool {
	items, _ := metadata[list].([]any)
	kept := slices.DeleteFunc(slices.Clone(items), which)
	if len(kept) == len(items) {
		return false
	}
	if metadata[list] = kept; len(kept) == 0 {
		delete(metadata, list)
	}
	return true
}

// PropagationOf returns the propagation policy of a request; empty: it has none.
func PropagationOf(options *metav1.DeleteOptions) metav1.DeletionPropagation {
	switch orphan := options.OrphanDependents; { //nolint:staticcheck // old clients send it
	case options.PropagationPolicy != nil:
		return *options.PropagationPolicy
	case orphan == nil:
		return ""
	case *orphan:
		return metav1.DeletePropagationOrphan
	}
	return metav1.DeletePropagationBackground
}
