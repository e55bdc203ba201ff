package filter

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// mapValue is a decoded JSON object. CEL's own maps collect their keys for every loop, without a cost; this type has the keys.
type mapValue struct {
	members map[string]ref.Val
	names   []string // in order
}

func newMapValue(decoded map[string]any) *mapValue {
	r := &mapValue{members: make(map[string]ref.Val, len(decoded)), names: slices.Sorted(maps.Keys(decoded))}
	for name, value := range decoded {
		r.members[name] = newValue(value)
	}
	return r
}

// Find implements traits.Mapper.
func (r *mapValue) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	value, found := r.members[string(name)]
	return value, found
}

// Get implements traits.Indexer.
func (r *mapValue) Get(key ref.Val) ref.Val { return get(r, key) }

// Contains implements traits.Container.
func (r *mapValue) Contains(key ref.Val) ref.Val { return containsKey(r, key) }

func get(m traits.Mapper, key ref.Val) ref.Val {
	if value, found := m.Find(key); found {
		return value
	}
	return types.NewErr("no such key: %v", key)
}

func containsKey(m traits.Mapper, key ref.Val) ref.Val {
	_, found := m.Find(key)
	return types.Bool(found)
}

// Size implements traits.Sizer.
func (r *mapValue) Size() ref.Val { return types.Int(len(r.names)) }

// Equal implements ref.Val.
func (r *mapValue) Equal(other ref.Val) ref.Val {
	m, ok := other.(traits.Mapper)
	if !ok || m.Size() != r.Size() {
		return types.False
	}
	for name, value := range r.members {
		same, found := m.Find(types.String(name))
		if !found || types.Equal(value, same) != types.True {
			return types.False
		}
	}
	return types.True
}

// Type implements ref.Val.
func (r *mapValue) Type() ref.Type { return types.MapType }

// Value implements ref.Val.
func (r *mapValue) Value() any { return r.members }

// ConvertToNative implements ref.Val.
func (r *mapValue) ConvertToNative(to reflect.Type) (any, error) {
	return nil, fmt.Errorf("an object is no %v", to)
}

// ConvertToType implements ref.Val.
func (r *mapValue) ConvertToType(to ref.Type) ref.Val {
	switch to {
	case types.MapType:
		return r
	case types.TypeType:
		return types.MapType
	}
	return types.NewErr("an object is no %s", to.TypeName())
}

// Iterator implements traits.Iterable.
func (r *mapValue) Iterator() traits.Iterator {
	return &nameIterator{Iterator: emptyIterator, left: r.names}
}

var emptyIterator = types.NewStringList(types.DefaultTypeAdapter, nil).Iterator()

// nameIterator iterates over the names of a mapValue.
type nameIterator struct {
	traits.Iterator // emptyIterator, for the methods of ref.Val
	left            []string
}

// HasNext implements traits.Iterator.
func (n *nameIterator) HasNext() ref.Val { return types.Bool(len(n.left) > 0) }

// Next implements traits.Iterator.
func (n *nameIterator) Next() ref.Val {
	if len(n.left) == 0 {
		return nil
	}
	next := n.left[0]
	n.left = n.left[1:]
	return types.String(next)
}

var _ traits.Mapper = (*mapValue)(nil)
