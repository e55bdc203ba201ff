package addresses

import (
	"context"
	"maps"

	"revtail/etcdstore"
)

// Allocation has the addresses that one write allocates. Nil: it allocates none. One goroutine uses it.
type Allocation struct {
	allocator *Allocator
	dryRun    bool
	given     map[string]any // see allocatedMembers
	finish    finish
}

// finish ends the allocation of an object with the result of its write.
type finish func(written etcdstore.Revision, err error)

// Create sets the addresses of a new Service, in place. The error is a *apierrors.StatusError, one of etcdstore or watchcache, or that of ctx.
func (a *Allocation) Create(ctx context.Context, object map[string]any) (err error) {
	if a == nil {
		return nil
	}
	a.given = allocatedMembers(object)
	a.finish, err = a.allocator.allocate(ctx, object, func() (func(bool), error) { return a.allocator.services.Create(ctx, object, a.dryRun) })
	return err
}

// Update is Create for a Service that replaces old. A write that is tried again calls Finish before.
func (a *Allocation) Update(ctx context.Context, object, old map[string]any) (err error) {
	if a == nil {
		return nil
	}
	a.given = allocatedMembers(object)
	a.finish, err = a.allocator.allocate(ctx, object, func() (func(bool), error) { return a.allocator.services.Update(ctx, object, old, a.dryRun) })
	return err
}

// Given returns a Service with the addresses that it had before the allocation, for managedFields: no manager has set the others. It shares the
// metadata of the object.
func (a *Allocation) Given(object map[string]any) map[string]any {
	spec, ok := object["spec"].(map[string]any)
	if a == nil || a.given == nil || !ok {
		return object
	}
	spec = maps.Clone(spec)
	for _, member := range members {
		setMember(spec, member, a.given[member])
	}
	ports, _ := spec["ports"].([]any)
	before, _ := a.given["ports"].([]any)
	given := make([]any, len(ports))
	for i := range ports {
		port := ports[i].(map[string]any) // of a valid Service
		if i < len(before) {
			port = maps.Clone(port)
			setMember(port, "nodePort", before[i])
		}
		given[i] = port
	}
	if len(given) > 0 {
		spec["ports"] = given
	}
	object = maps.Clone(object)
	object["spec"] = spec
	return object
}

// members are those of a spec that an allocation sets, besides the node ports.
var members = []string{"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort"}

// allocatedMembers returns those of members that a client has given a Service, and its node ports, of which those that are not given are nil.
func allocatedMembers(object map[string]any) map[string]any {
	spec, _ := object["spec"].(map[string]any)
	given := make(map[string]any)
	for _, member := range members {
		if value := spec[member]; value != "" { // which is none
			given[member] = value
		}
	}
	ports, _ := spec["ports"].([]any)
	nodePorts := make([]any, 0, len(ports))
	for _, port := range ports {
		members, _ := port.(map[string]any)
		nodePorts = append(nodePorts, members["nodePort"])
	}
	given["ports"] = nodePorts
	return given
}

// setMember sets a member of an object; nil: it has none.
func setMember(object map[string]any, name string, value any) {
	if value == nil {
		delete(object, name)
	} else {
		object[name] = value
	}
}

// Finish ends the allocation with the result of the write: the revision of the Service, or an error. Another attempt may follow.
func (a *Allocation) Finish(written etcdstore.Revision, err error) {
	if a == nil {
		return
	}
	if a.finish != nil {
		a.finish(written, err)
	}
	a.finish, a.given = nil, nil
}
