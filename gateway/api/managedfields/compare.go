package managedfields

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"revtail/gateway/api/object"
)

// comparison finds the fields in which two states of an object differ, as structured-merge-diff does, but on decoded JSON. Its methods
// report false for objects with nulls, values of the wrong type or duplicate elements, which it does not support.
type comparison struct {
	schema           *schema.Schema
	changed, removed fieldSet // changed: including the added ones
	path             []fieldStep
}

// object compares the tracked members of two objects.
func (c *comparison) object(root schema.TypeRef, old, next map[string]any, tracked func(member string) bool) bool {
	atom, ok := c.schema.Resolve(root)
	if !ok || atom.Map == nil {
		return false
	}
	return c.members(atom.Map, old, next, func(name string, ref schema.TypeRef, old, next side) bool {
		switch {
		case name == "apiVersion", name == "kind", !tracked(name):
			return true
		case name == "metadata":
			return c.metadata(ref, old, next)
		}
		return c.field(ref, old, next)
	})
}

// metadata compares the members of the metadata that clients write. The metadata itself is no field.
func (c *comparison) metadata(ref schema.TypeRef, old, next side) bool {
	atom, ok := c.schema.Resolve(ref)
	before, isMap := old.value.(map[string]any)
	after, areMaps := next.value.(map[string]any)
	if !ok || atom.Map == nil || !isMap || !areMaps {
		return false
	}
	return c.members(atom.Map, before, after, func(name string, ref schema.TypeRef, old, next side) bool {
		switch name {
		case "name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName", "generation", "managedFields", "resourceVersion":
			return true
		}
		return c.field(ref, old, next)
	})
}

// side is a value on one side of a comparison.
type side struct {
	value  any
	exists bool
}

func sideOf(object map[string]any, name string) side {
	value, ok := object[name]
	return side{value, ok}
}

// same reports whether both sides exist and have the same value.
func (s side) same(other side) bool {
	return s.exists && other.exists && object.EqualJSON(s.value, other.value)
}

// members calls compare for each member in which two objects differ, with path set to the member.
func (c *comparison) members(t *schema.Map, old, next map[string]any, compare func(name string, ref schema.TypeRef, old, next side) bool) bool {
	return c.entries("f:", old, next, func(name string, old, next side) bool {
		ref := t.ElementType
		if field, ok := t.FindField(name); ok {
			ref = field.Type
		}
		return compare(name, ref, old, next)
	})
}

// entries calls compare for each member or element in which two maps differ, with path set to it.
func (c *comparison) entries(kind string, old, next map[string]any, compare func(name string, old, next side) bool) bool {
	one := func(name string) bool {
		before, after := sideOf(old, name), sideOf(next, name)
		if before.same(after) {
			return true
		}
		c.path = append(c.path, fieldStep{kind, name})
		ok := compare(name, before, after)
		c.path = c.path[:len(c.path)-1]
		return ok
	}
	for name := range next {
		if !one(name) {
			return false
		}
	}
	for name := range old {
		if _, ok := next[name]; !ok && !one(name) {
			return false
		}
	}
	return true
}

// field compares two different values at the current path.
func (c *comparison) field(ref schema.TypeRef, old, next side) bool {
	atom, ok := c.schema.Resolve(ref)
	if !ok {
		return false
	}
	sample := next
	if !next.exists {
		sample = old
	}
	leaf := false
	switch kind := sample.value.(type) {
	case map[string]any:
		before, _ := old.value.(map[string]any)
		after, _ := next.value.(map[string]any)
		if atom.Map == nil || old.exists && before == nil || next.exists && after == nil {
			return false
		}
		leaf = atom.Map.ElementRelationship == schema.Atomic
		ok = leaf || c.members(atom.Map, before, after, func(_ string, ref schema.TypeRef, old, next side) bool { return c.field(ref, old, next) })
	case []any:
		before, _ := old.value.([]any)
		after, _ := next.value.([]any)
		if atom.List == nil || old.exists && before == nil || next.exists && after == nil {
			return false
		}
		leaf = atom.List.ElementRelationship == schema.Atomic
		ok = leaf || c.elements(atom.List, before, after)
	default:
		leaf = true
		ok = (!old.exists || isScalar(atom.Scalar, old.value)) && (!next.exists || isScalar(atom.Scalar, kind))
	}
	switch {
	case !ok:
		return false
	case !old.exists, leaf && next.exists:
		c.changed.insert(c.path)
	case !next.exists:
		c.removed.insert(c.path)
	}
	return true
}

func isScalar(t *schema.Scalar, v any) bool {
	if t == nil {
		return false
	}
	switch v.(type) {
	case string:
		return *t == schema.String || *t == schema.Untyped
	case bool:
		return *t == schema.Boolean || *t == schema.Untyped
	case int64, float64:
		return *t == schema.Numeric || *t == schema.Untyped
	}
	return false
}

// elements compares lists whose elements have identities.
func (c *comparison) elements(t *schema.List, old, next []any) bool {
	before, ok := c.index(t, old)
	after, too := c.index(t, next)
	return ok && too && c.entries("", before, after, func(_ string, old, next side) bool { return c.field(t.ElementType, old, next) })
}

// index maps the path elements of a list's elements to the elements.
func (c *comparison) index(t *schema.List, list []any) (map[string]any, bool) {
	index := make(map[string]any, len(list))
	for _, element := range list {
		identity, ok := c.identity(t, element)
		if !ok {
			return nil, false
		}
		text, err := fieldpath.SerializePathElement(identity)
		if err != nil {
			return nil, false
		}
		index[text] = element
	}
	return index, len(index) == len(list)
}

func (c *comparison) identity(t *schema.List, element any) (fieldpath.PathElement, bool) {
	untyped := schema.Untyped
	if len(t.Keys) == 0 {
		v := value.NewValueInterface(element)
		return fieldpath.PathElement{Value: &v}, isScalar(&untyped, element)
	}
	members, ok := element.(map[string]any)
	atom, known := c.schema.Resolve(t.ElementType)
	if !ok || !known || atom.Map == nil {
		return fieldpath.PathElement{}, false
	}
	var keys value.FieldList
	for _, name := range t.Keys {
		key, ok := members[name]
		if !ok {
			field, _ := atom.FindField(name)
			if key = field.Default; key == nil {
				continue
			}
		} else if !isScalar(&untyped, key) {
			return fieldpath.PathElement{}, false
		}
		keys = append(keys, value.Field{Name: name, Value: value.NewValueInterface(key)})
	}
	keys.Sort()
	return fieldpath.PathElement{Key: &keys}, len(keys) > 0
}

// isAtomicFree reports whether no managed field is a part of an atomic one, as it may be after a change of the schema.
func (c *comparison) isAtomicFree(ref schema.TypeRef, managed map[string]any) bool {
	atom, ok := c.schema.Resolve(ref)
	if !ok {
		return false
	}
	for element, child := range managed {
		if element == self {
			continue
		}
		members, ok := child.(map[string]any)
		if !ok || len(element) < 3 || element[1] != ':' {
			return false
		}
		var below schema.TypeRef
		switch {
		case element[0] == 'f' && atom.Map != nil && atom.Map.ElementRelationship != schema.Atomic:
			below = atom.Map.ElementType
			if field, ok := atom.FindField(element[2:]); ok {
				below = field.Type
			}
		case (element[0] == 'k' || element[0] == 'v') && atom.List != nil && atom.List.ElementRelationship != schema.Atomic:
			below = atom.List.ElementType
		default:
			return false
		}
		if len(members) > 0 && !c.isAtomicFree(below, members) {
			return false
		}
	}
	return true
}
