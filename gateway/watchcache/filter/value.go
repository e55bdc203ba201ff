package filter

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"revtail/encoding/jsontext"
)

const (
	// maxLookups bounds the members that are searched in the text of an object, and maxDepth the depth of such a search, because
	// each lookup reads the whole text. Further lookups decode the object, once for an evaluation.
	maxLookups = 8
	maxDepth   = 8
)

// valueOf is the CEL value of a JSON text.
func valueOf(text []byte) ref.Val { return valueAt(text, 0) }

func valueAt(text []byte, depth int) ref.Val {
	if len(text) > 0 && text[0] == '{' && depth < maxDepth {
		return &jsonObject{text: text, depth: depth}
	}
	return decode(text)
}

func decode(text []byte) ref.Val {
	decoded, err := jsontext.UnmarshalValue(text)
	if err != nil {
		return types.WrapErr(err)
	}
	return newValue(decoded)
}

// newValue converts a decoded value and all its members, so that a loop over them decodes nothing.
func newValue(decoded any) ref.Val {
	switch v := decoded.(type) {
	case map[string]any:
		return newMapValue(v)
	case []any:
		elements := make([]ref.Val, len(v))
		for i, element := range v {
			elements[i] = newValue(element)
		}
		return types.NewRefValList(types.DefaultTypeAdapter, elements)
	case json.Number: // neither int64 nor float64 can represent it
		if n, err := strconv.ParseUint(string(v), 10, 64); err == nil {
			return types.Uint(n)
		}
		f, _ := strconv.ParseFloat(string(v), 64) // the nearest float64
		return types.Double(f)
	}
	return types.DefaultTypeAdapter.NativeToValue(decoded)
}

// jsonObject is an undecoded JSON object: an expression that uses one field decodes that field. It belongs to one evaluation, and
// searches for no member twice, so that a loop cannot read much at no cost.
type jsonObject struct {
	text    []byte
	depth   int
	cached  map[string]ref.Val // found members; nil: there is no such member
	members *mapValue          // nil: not decoded yet
}

// decoded returns the object with all its members.
func (o *jsonObject) decoded() *mapValue {
	if o.members == nil {
		decoded, ok := decode(o.text).(*mapValue)
		if !ok {
			decoded = newMapValue(nil) // does not happen: documents are valid
		}
		o.members = decoded
	}
	return o.members
}

// Find implements traits.Mapper.
func (o *jsonObject) Find(key ref.Val) (ref.Val, bool) {
	name, ok := key.(types.String)
	if !ok {
		return nil, false
	}
	value, seen := o.cached[string(name)]
	switch {
	case seen:
	case o.members != nil || len(o.cached) == maxLookups:
		return o.decoded().Find(key)
	default:
		value = o.lookup(string(name))
	}
	return value, value != nil
}

// lookup searches the text for a member.
func (o *jsonObject) lookup(name string) (value ref.Val) {
	if text := jsontext.Member(o.text, name); text != nil {
		value = valueAt(text, o.depth+1)
	}
	if o.cached == nil {
		o.cached = make(map[string]ref.Val)
	}
	o.cached[name] = value
	return value
}

// Get implements traits.Indexer.
func (o *jsonObject) Get(key ref.Val) ref.Val {
	if value, found := o.Find(key); found {
		return value
	}
	return types.NewErr("no such key: %v", key)
}

// Contains implements traits.Container.
func (o *jsonObject) Contains(key ref.Val) ref.Val {
	_, found := o.Find(key)
	return types.Bool(found)
}

// Iterator implements traits.Iterable.
func (o *jsonObject) Iterator() traits.Iterator { return o.decoded().Iterator() }

// Size implements traits.Sizer.
func (o *jsonObject) Size() ref.Val { return o.decoded().Size() }

// Equal implements ref.Val.
func (o *jsonObject) Equal(other ref.Val) ref.Val { return o.decoded().Equal(other) }

// Type implements ref.Val.
func (o *jsonObject) Type() ref.Type { return types.MapType }

// Value implements ref.Val.
func (o *jsonObject) Value() any { return o.decoded().Value() }

// ConvertToNative implements ref.Val.
func (o *jsonObject) ConvertToNative(to reflect.Type) (any, error) {
	return o.decoded().ConvertToNative(to)
}

// ConvertToType implements ref.Val.
func (o *jsonObject) ConvertToType(to ref.Type) ref.Val { return o.decoded().ConvertToType(to) }

// mapValue is a decoded JSON object. CEL's own maps collect their keys for every loop, without a cost; this one has the keys.
type mapValue struct {
	traits.Mapper
	names traits.Lister // in order
}

func newMapValue(decoded map[string]any) *mapValue {
	members := make(map[string]any, len(decoded))
	for name, value := range decoded {
		members[name] = newValue(value)
	}
	names := types.NewStringList(types.DefaultTypeAdapter, slices.Sorted(maps.Keys(decoded)))
	return &mapValue{types.NewStringInterfaceMap(types.DefaultTypeAdapter, members), names}
}

// Iterator implements traits.Iterable.
func (m *mapValue) Iterator() traits.Iterator { return m.names.Iterator() }
